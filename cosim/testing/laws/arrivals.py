"""Arrivals: what rounds and jobs say of uploads that arrive."""

import math
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np

from cosim.names import by_number
from cosim.records.rows import DONE, NO_JOB, NO_ROUND
from cosim.results.result import Result
from cosim.testing.laws.broken import all_fit, broken
from cosim.testing.laws.columns import JOB, ROUND, rows_of


def drops_are_counted(result: Result) -> None:
    """Updates of an edge round are as many as its participants' uploads that arrive before it ends."""
    rounds = result.rounds[result.rounds["level"].to_numpy() == "edge"]
    all_fit(
        rounds,
        (rounds["num_arrived"] >= 0) & (rounds["num_arrived"] <= rounds["num_participants"]),
        "drops",
        "no more may arrive than take part",
        "outcomes that are counted twice",
    )
    ends_s = dict(zip(rows_of(rounds, "node", *ROUND), rounds["end_s"].tolist(), strict=True))
    last = {edge: numbers for edge, *numbers in sorted(ends_s)}
    arrived: dict[tuple[str, int, int], list[_Arrived]] = {}
    for upload in _arrived(result):
        if upload.edge_round != NO_ROUND:
            arrived.setdefault((upload.edge, upload.global_round, upload.edge_round), []).append(upload)
    for key, own in sorted(arrived.items()):
        under_way = list(key[1:]) > last.get(key[0], [0, 0])  # when the run ended
        if not under_way and max(upload.end_s for upload in own) > ends_s.get(key, -1.0):
            clients = ", ".join(upload.client for upload in own)
            where = f"an upload of {clients} arrives after its edge round {key} has ended"
            raise broken("drops", where, "work that is not cut at the deadline")
    for node, global_round, edge_round, num_arrived in rows_of(rounds, "node", *ROUND, "num_arrived"):
        found = len(arrived.get((node, global_round, edge_round), ()))
        if found != num_arrived:
            where = f"{found} uploads arrive at {node} in round {global_round}.{edge_round}, and "
            raise broken(
                "drops",
                f"{where}{num_arrived} updates",
                "outcomes other than an update or Dropped, or an upload that ends after it was cut",
            )


def jobs_tell_all(result: Result) -> None:
    """A job has one number, one row and its activities within it, and is done if its upload arrives."""
    fates = result.fates
    jobs = rows_of(fates, *JOB)
    times_s = dict(zip(jobs, rows_of(fates, "start_s", "end_s"), strict=True))
    if len(times_s) < len(jobs):
        rule, reason = "client and number must name one job", "work whose number is not the count of edge"
        fits = ~fates.duplicated([*JOB]).to_numpy()
        all_fit(fates, fits, "jobs", rule, f"{reason} rounds, or of the client's own jobs")
    arrived = {(upload.client, upload.job) for upload in _arrived(result)}
    is_done = np.array([job in arrived for job in jobs], dtype=bool)
    all_fit(
        fates,
        is_done == (fates["outcome"].to_numpy() == DONE),
        "jobs",
        "a job is done if its upload arrives, and else dropped",
        "an outcome of its own",
    )
    spans = result.spans[result.spans["job"].to_numpy() != NO_JOB]
    never = (math.nan, math.nan)
    of_job = np.array([times_s.get(job, never) for job in rows_of(spans, "node", "job")]).reshape(-1, 2)
    spans = spans.assign(start_s_of_job=of_job[:, 0], end_s_of_job=of_job[:, 1])
    within = (spans["start_s"] >= of_job[:, 0]) & (spans["end_s"] <= of_job[:, 1])
    all_fit(spans, within, "jobs", "an activity must lie within its job", "sim.spend with the job of another")


class _Arrived(NamedTuple):
    """An upload that has arrived."""

    client: str
    job: int
    edge: str
    global_round: int
    edge_round: int
    end_s: float


def _arrived(result: Result) -> list[_Arrived]:
    """Uploads that have arrived, without uploads that a server may leave out.

    It may where a client of lower number, whose update counts, arrived at the same instant of the round.
    """
    fates, uploads = result.fates, result.uploads
    counting = set(rows_of(fates[fates["outcome"].to_numpy() == DONE], *JOB, *ROUND))
    uploads = uploads[uploads["arrived"].to_numpy()]
    arrived = list(starmap(_Arrived, rows_of(uploads, *_Arrived._fields)))
    counts = [(own.client, own.job, own.global_round, own.edge_round) in counting for own in arrived]
    first: dict[tuple[Any, ...], tuple[str, int]] = {}
    for own, is_counted in zip(arrived, counts, strict=True):
        number = by_number(own.client)
        if is_counted and number < first.get(own[2:], (number[0], math.inf)):
            first[own[2:]] = number
    return [
        own
        for own, is_counted in zip(arrived, counts, strict=True)
        if is_counted or own[2:] not in first or first[own[2:]] >= by_number(own.client)
    ]
