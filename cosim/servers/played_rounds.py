"""Played rounds: what is kept of edge rounds that were played as arrays.

Rows of their clients, made many rounds at a time when they are handed over; or a row for each round, made at
its end, so that memory grows with rounds and not with clients.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.devices.fleet import Clients
from cosim.devices.rest import Stretch
from cosim.records import DONE, ROWS_OF_A_JOB, Fate, Row, Span, Tally, Transfer
from cosim.servers.array_round import ArrayRound
from cosim.servers.rested import Rested, spans_of
from cosim.trace import Columns, Trace, Words

QUANTILES = (0.1, 0.5, 0.9, 1.0)
"""Those of a tally."""


class PlayedRounds:
    """Edge rounds that have ended, in that order.

    Args:
        keeps_rows: Whether rows of clients are kept; else a `Tally` of each round.

    Attributes:
        cells: The clients of each cell, where devices take power at rest.
    """

    def __init__(self, trace: Trace, *, keeps_rows: bool) -> None:
        self._trace, self.keeps_rows = trace, keeps_rows
        self._rounds: list[ArrayRound] = []
        self._num_jobs, self._forgotten_s = 0, -math.inf
        self._rested: list[Rested] = []
        self.cells: Sequence[Clients] = ()
        trace.many = self

    def add(self, played: ArrayRound) -> None:
        """Keep a round that has ended."""
        if self.keeps_rows:
            self._rounds.append(played)
            self._num_jobs += len(played.trained_s)
        else:
            self._trace.record(_tally(played))

    def close(self, now_s: float) -> None:
        """Keep the rest of everybody until the end of a run, where devices take power at rest."""
        for clients in self.cells:
            rested = Rested.begun(clients, now_s)
            assert rested is not None
            if self.keeps_rows:
                self._rested.append(rested)
            else:
                self._trace.record(rested.tally())

    def fall_asleep(self, until_s: float) -> None:
        """Keep the idling of those who fell asleep by then, and are still at rest."""
        if self.keeps_rows:
            self._rested += [Rested.fallen_asleep(clients, until_s) for clients in self.cells]

    @property
    def num_rows(self) -> int:
        """About how many rows it has."""
        return ROWS_OF_A_JOB * self._num_jobs

    def columns(self, until_s: float = math.inf) -> dict[type[Row], Columns]:
        """The rows that ended by then, by column."""
        rounds = [of for of in self._rounds if of.start_s <= until_s]
        found = _columns(rounds) if rounds else {}
        rested = [of.rested for of in rounds if of.rested is not None] + self._rested
        if rested:
            clients, _ = _names([of.clients for of in rested], [len(of.since_s) for of in rested])
            at_work = [found[Span]] if Span in found else []
            found[Span] = _stacked(at_work + spans_of(rested, clients))
        for kind, columns in found.items():
            ends_s = columns["end_s"]
            which = (self._forgotten_s < ends_s) & (ends_s <= until_s)
            if not which.all():
                found[kind] = {name: values[which] for name, values in columns.items()}
        return found

    def forget(self, until_s: float) -> None:
        """Let go of the rows that ended by then; nothing that ended so early may be added later."""
        self._rounds = [of for of in self._rounds if of.ending.end_s > until_s]
        self._num_jobs = sum(len(of.trained_s) for of in self._rounds)
        self._rested = [of for of in self._rested if of.until_s > until_s]
        self._forgotten_s = until_s


def _tally(played: ArrayRound) -> Tally:
    fleet, places, job = played.clients.fleet, played.clients.places, played.job
    (end_s, counts, _), trained_s, ends_s = played.ending, played.trained_s, played.uploads.ends_s
    granted_s = trained_s if played.uploads.granted_s is None else played.uploads.granted_s
    sends, arrives = trained_s <= end_s, ends_s <= end_s
    train_s = np.minimum(trained_s, end_s) - played.start_s
    waited_s = np.minimum(granted_s, end_s)
    send_s = np.where(sends, np.minimum(ends_s, end_s) - waited_s, 0.0)
    upload_s = np.sort((ends_s - trained_s)[arrives])
    num_sent, num_arrived = int(sends.sum()), len(upload_s)
    idle, sleep = _NO_REST if played.rested is None else played.rested.stretches
    wait_s = np.where(sends, waited_s - trained_s, 0.0)
    quantiles_s = [upload_s[math.ceil(q * num_arrived) - 1] if num_arrived else math.nan for q in QUANTILES]
    return Tally(
        fleet.edge,
        job.global_round,
        job.edge_round,
        played.start_s,
        end_s,
        len(trained_s),
        num_sent,
        int(counts.sum()),
        train_s.sum(),
        wait_s.sum(),
        send_s.sum(),
        idle.lasts_s.sum(),
        sleep.lasts_s.sum(),
        (fleet.train_w[places] * train_s).sum(),
        (fleet.devices.idle_w[places] * wait_s).sum(),
        (fleet.send_w[places] * send_s).sum(),
        idle.energy_j.sum(),
        sleep.energy_j.sum(),
        num_sent * played.bits,
        (played.bits - played.uploads.bits_left(end_s)).sum(),
        *quantiles_s,
    )


_NO_REST = (Stretch(np.zeros(0), np.zeros(0), np.zeros(0)),) * 2


def _columns(rounds: Sequence[ArrayRound]) -> dict[type[Row], Columns]:
    sizes = [len(of.trained_s) for of in rounds]

    def each(values: Sequence[Any]) -> NDArray[Any]:
        """A value of each round, for everyone in it."""
        return np.repeat(np.array(values), sizes)

    def all_of(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(arrays)

    start_s, end_s = each([of.start_s for of in rounds]), each([of.ending.end_s for of in rounds])
    trained_s, ends_s = all_of([of.trained_s for of in rounds]), all_of([of.uploads.ends_s for of in rounds])
    left_bits = all_of([of.uploads.bits_left(of.ending.end_s) for of in rounds])
    train_w = all_of([of.clients.fleet.train_w[of.clients.places] for of in rounds])
    send_w = all_of([of.clients.fleet.send_w[of.clients.places] for of in rounds])
    idle_w = all_of([of.clients.fleet.devices.idle_w[of.clients.places] for of in rounds])
    bits, number = each([of.bits for of in rounds]), each([of.job.number for of in rounds])
    clients, edges = _names([of.clients for of in rounds], sizes)
    words = [DONE, *dict.fromkeys(of.ending.reason for of in rounds)]
    reason = each([words.index(of.ending.reason) for of in rounds])
    shared = {
        "edge": edges,
        "global_round": each([of.job.global_round for of in rounds]),
        "edge_round": each([of.job.edge_round for of in rounds]),
        "job": number,
    }
    sends, arrives = trained_s <= end_s, ends_s <= end_s
    until_s = np.minimum(ends_s, end_s)
    counts = all_of([of.ending.counts for of in rounds])
    fates = shared | {
        "client": clients,
        "start_s": start_s,
        "end_s": until_s,
        "outcome": Words(words, np.where(counts, 0, reason)),
    }
    sent = {
        "client": clients,
        "start_s": trained_s,
        "end_s": until_s,
        "payload_bits": bits,
        "sent_bits": bits - left_bits,
        "arrived": arrives,
    }
    spans, activities = [], ["train", "wait", "send"]
    granted_s = trained_s
    if any(of.uploads.granted_s is not None for of in rounds):
        granted_s = all_of(
            [of.trained_s if of.uploads.granted_s is None else of.uploads.granted_s for of in rounds]
        )
    for activity, (from_s, to_s, power_w, is_done) in enumerate(
        (
            (start_s, trained_s, train_w, sends),
            (
                trained_s,
                granted_s,
                idle_w,
                granted_s < end_s,
            ),  # who is granted at the cut waits no more
            (granted_s, ends_s, send_w, arrives),
        )
    ):
        stop_s = np.minimum(to_s, end_s)
        which = np.flatnonzero(stop_s > from_s)
        spans.append(
            {
                "node": clients[which],
                "activity": Words(activities, np.full(len(which), activity)),
                "start_s": from_s[which],
                "end_s": stop_s[which],
                "energy_j": (power_w * (stop_s - from_s))[which],
                "outcome": Words(words, np.where(is_done, 0, reason)[which]),
                "job": number[which],
            }
        )
    return {
        Span: _stacked(spans),
        Transfer: {name: values[sends] for name, values in (shared | sent).items()},
        Fate: fates,
    }


def _names(of: Sequence[Clients], sizes: Sequence[int]) -> tuple[Words, Words]:
    """Client and edge server of each row."""
    fleets = list({id(clients.fleet): clients.fleet for clients in of}.values())
    firsts = dict(zip(map(id, fleets), np.cumsum([0, *(len(fleet.names) for fleet in fleets)]), strict=False))
    which = {id(fleet): number for number, fleet in enumerate(fleets)}
    places = [firsts[id(c.fleet)] + np.arange(len(c.fleet.names))[c.places] for c in of]
    names = Words([name for fleet in fleets for name in fleet.names], np.concatenate(places))
    edges = np.repeat([which[id(clients.fleet)] for clients in of], sizes)
    return names, Words([fleet.edge for fleet in fleets], edges)


def _stacked(parts: Sequence[Columns]) -> Columns:
    """Rows one below the other."""
    stacked: Columns = {}
    for name, first in parts[0].items():
        columns = [part[name] for part in parts]
        if isinstance(first, Words) and all(column.words is first.words for column in columns):
            stacked[name] = Words(first.words, np.concatenate([column.codes for column in columns]))
        elif isinstance(first, Words):
            firsts = np.cumsum([0, *(len(column.words) for column in columns)])
            codes = [first + column.codes for first, column in zip(firsts, columns, strict=False)]
            stacked[name] = Words(
                [word for column in columns for word in column.words], np.concatenate(codes)
            )
        else:
            stacked[name] = np.concatenate(columns)
    return stacked
