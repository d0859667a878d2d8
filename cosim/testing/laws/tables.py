"""Laws: what the tables of every run fulfil."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.configuration import from_dict
from cosim.devices.device import DeviceArrays
from cosim.names import by_number, client_name
from cosim.records.rows import BY_CLIENT, DONE, END_OF_RUN, NO_JOB, NO_ROUND, REST, UP, WAIT
from cosim.results.result import Result
from cosim.results.summary import COMPLETE
from cosim.system.system import System

Law = Callable[[Result], None]


class BrokenLaw(AssertionError):
    """A law that a part breaks: which one, where, the usual reason."""


def broken(law: str, where: str, reason: str) -> BrokenLaw:
    """The error of one law."""
    return BrokenLaw(f"{law}: {where}. Usual reason: {reason}.")


def time_passes(result: Result) -> None:
    """Activities have a length, a node's activities follow each other, and so do global rounds."""
    spans = result.spans
    all_fit(
        spans,
        (spans["end_s"] > spans["start_s"]) & (spans["start_s"] >= 0.0) & np.isfinite(spans["end_s"]),
        "time",
        "an activity must end after it starts, at a finite time",
        "a record that was written by hand; let time pass by sim.spend",
    )
    for node, own in spans.groupby("node"):
        own = own.sort_values(["start_s", "end_s"])
        before = own["end_s"].cummax().shift(fill_value=0.0)
        all_fit(
            own,
            own["start_s"] >= before,
            "time",
            f"two activities of {node} overlap",
            "one node that is started twice, as a client in two rounds at once",
        )
    for (level, node), own in result.rounds.groupby(["level", "node"]):
        own = own.sort_values(["global_round", "edge_round"])
        previous = own["end_s"].shift(fill_value=0.0)
        all_fit(
            own,
            (own["start_s"] >= previous) & (own["end_s"] >= own["start_s"]),
            "time",
            f"{level} rounds of {node} overlap",
            "a round that begins before the last one has been closed",
        )


def energy_adds_up(result: Result) -> None:
    """Energy is finite, not negative, waiting takes that of an idle client, and the sum is the run's."""
    spans = result.spans
    all_fit(
        spans,
        np.isfinite(spans["energy_j"]) & (spans["energy_j"] >= 0.0),
        "energy",
        "an activity must take a finite energy of at least 0",
        "a power below 0, or one that is not a number",
    )
    waiting = spans[spans["activity"] == "wait"]
    if (waiting["energy_j"] > 0.0).any():
        takes_j = _idle_w(result, waiting["node"]) * (waiting["end_s"] - waiting["start_s"])
        rule = "waiting takes no more than the idle power"
        all_fit(waiting, waiting["energy_j"] <= takes_j, "energy", rule, "a power given to sim.spend")
    if not np.isclose(spans["energy_j"].sum(), result.summary.energy_j, rtol=1e-12):
        where = f"the spans have {spans['energy_j'].sum()} J, the summary has {result.summary.energy_j} J"
        raise broken("energy", where, "a summary of its own")


def _idle_w(result: Result, nodes: "pd.Series[str]") -> NDArray[np.float64]:
    """Of the device of each client; 0 for other nodes."""
    system = from_dict(System, result.config["system"])
    idle_w = DeviceArrays.of(system.devices.of_clients(Simulation(system.seed), system.sizes())).idle_w
    of_node = {client_name(number): power_w for number, power_w in enumerate(idle_w.tolist())}
    return np.array([of_node.get(node, 0.0) for node in nodes])


def _rests(spans: pd.DataFrame) -> "pd.Series[bool]":
    """Which are of clients at rest."""
    return spans["activity"].isin(REST) & spans["node"].str.startswith("client")


def rest_fills_the_gaps(result: Result) -> None:
    """Activities of each client tile the whole run where devices take power at rest."""
    spans, end_s = result.spans, result.summary.time_s
    if result.summary.status != COMPLETE or not _rests(spans).any():
        return
    clients = spans[spans["node"].str.startswith("client")].sort_values(["node", "start_s"])
    num_clients = result.config["system"]["num_clients"]
    if clients["node"].nunique() != num_clients:
        where = f"{clients['node'].nunique()} of {num_clients} clients have activities"
        raise broken("rest", where, "names other than those of the run's clients")
    reason = "time that a client spends by other ways than sim.spend"
    begins = clients["start_s"] == clients.groupby("node")["end_s"].shift(fill_value=0.0)
    all_fit(clients, begins, "rest", "an activity must begin where the one before has ended", reason)
    last = clients.groupby("node").tail(1)
    all_fit(
        last, last["end_s"] == end_s, "rest", f"the last activity must end with the run, at {end_s}", reason
    )


def bits_are_conserved(result: Result) -> None:
    """No client gets more than there is, and what has arrived came whole while its client was busy."""
    transfers = result.transfers
    all_fit(
        transfers,
        (transfers["sent_bits"] >= 0.0) & (transfers["sent_bits"] <= transfers["payload_bits"]),
        "bits",
        "a transfer must carry from 0 to payload_bits",
        "bits_left that falls below 0 or rises",
    )
    all_fit(
        transfers,
        ~transfers["arrived"] | (transfers["sent_bits"] == transfers["payload_bits"]),
        "bits",
        "a transfer that has arrived must have carried all of its bits",
        "bits_left that is not 0 when `done` has come",
    )
    sending = result.spans[result.spans["activity"].isin(["send", "receive", "wait"])]
    busy_s = sending.assign(s=sending["end_s"] - sending["start_s"]).groupby("node")["s"].sum()
    for client, own in transfers.groupby("client"):
        lasted_s = float((own["end_s"] - own["start_s"]).sum())
        if not np.isclose(busy_s.get(client, 0.0), lasted_s, rtol=1e-9, atol=1e-12):
            where = f"{client} waits, sends and receives for {busy_s.get(client, 0.0)} s, and its transfers "
            raise broken("bits", f"{where}last {lasted_s} s", "one that is not carried by Client")


def drops_are_counted(result: Result) -> None:
    """Updates of an edge round are as many as its participants' uploads that arrive before it ends."""
    rounds = result.rounds[result.rounds["level"] == "edge"]
    all_fit(
        rounds,
        (rounds["num_arrived"] >= 0) & (rounds["num_arrived"] <= rounds["num_participants"]),
        "drops",
        "no more may arrive than take part",
        "outcomes that are counted twice",
    )
    keys = ["edge", "global_round", "edge_round"]
    arrived = _arrived(result)
    arrived = arrived[arrived["edge_round"] != NO_ROUND]
    ends_s = rounds.set_index(["node", "global_round", "edge_round"])["end_s"]
    last: dict[Any, Any] = {edge: tuple(key) for edge, *key in sorted(ends_s.index)}
    for key, own in arrived.groupby(keys):
        under_way = key[1:] > last.get(key[0], (0, 0))  # when the run ended
        if not under_way and (own["end_s"] > ends_s.get(key, -1.0)).any():  # type: ignore[call-overload]
            where = f"an upload of {', '.join(own['client'])} arrives after its edge round {key} has ended"
            raise broken("drops", where, "work that is not cut at the deadline")
    counts = arrived.groupby(keys).size()
    for row in rounds.itertuples():
        found = int(counts.get((row.node, row.global_round, row.edge_round), 0))
        if found != row.num_arrived:
            where = f"{found} uploads arrive at {row.node} in round {row.global_round}.{row.edge_round}, and "
            raise broken(
                "drops",
                f"{where}{row.num_arrived} updates",
                "outcomes other than an update or Dropped, or an upload that ends after it was cut",
            )


def jobs_tell_all(result: Result) -> None:
    """A job has one number, one row and its activities within it, and is done if its upload arrives."""
    key = ["client", "job"]
    jobs = result.fates
    reason = "work whose number is not the count of edge rounds, or of the client's own jobs"
    all_fit(jobs, ~jobs.duplicated(key), "jobs", "client and number must name one job", reason)
    arrived = _arrived(result).set_index(key).index
    is_done = pd.MultiIndex.from_frame(jobs[key]).isin(arrived) == (jobs["outcome"] == DONE)
    all_fit(
        jobs,
        is_done,
        "jobs",
        "a job is done if its upload arrives, and else dropped",
        "an outcome of its own",
    )
    spans = result.spans[result.spans["job"] != NO_JOB].rename(columns={"node": "client"})
    spans = spans.merge(jobs[[*key, "start_s", "end_s"]], on=key, how="left", suffixes=("", "_of_job"))
    within = (spans["start_s"] >= spans["start_s_of_job"]) & (spans["end_s"] <= spans["end_s_of_job"])
    all_fit(spans, within, "jobs", "an activity must lie within its job", "sim.spend with the job of another")


def updates_are_applied_once(result: Result) -> None:
    """An update is applied once, after it has arrived, and as late as versions were made since it started."""
    updates = result.updates
    key = ["server", "client", "job"]
    all_fit(updates, ~updates.duplicated(key), "updates", "none is applied twice", "an arrival that is kept")
    between = updates["made_version"] - 1 - updates["started_version"]
    fits = (updates["staleness"] == between) & (between >= 0)
    all_fit(updates, fits, "updates", "staleness counts the versions between", "a count of another server")
    in_time = (updates["start_s"] <= updates["arrival_s"]) & (updates["arrival_s"] <= updates["applied_s"])
    all_fit(updates, in_time, "updates", "it starts, arrives and is applied in turn", "a time that is kept")
    done = result.fates[(result.fates["outcome"] == DONE) & (result.fates["edge_round"] == NO_ROUND)]
    done = pd.MultiIndex.from_frame(done[["client", "job"]])
    own = updates[updates["client"] != updates["edge"]]
    arrived = pd.MultiIndex.from_frame(own[["client", "job"]]).isin(done)
    all_fit(own, arrived, "updates", "only what has arrived is applied", "a dropped update that is applied")


def versions_age_what_is_in_flight(result: Result) -> None:
    """Versions go one by one, have their updates, and make staler by one all that is in flight."""
    versions, updates = result.versions, result.updates
    keys = pd.MultiIndex.from_frame(versions[["server", "version"]])
    counted = versions.groupby("server").cumcount() + 1 == versions["version"]
    all_fit(versions, counted, "versions", "each is one more than the one before", "a version that is kept")
    applied = updates.groupby(["server", "made_version"]).size().reindex(keys, fill_value=0).to_numpy()
    has_own = versions["num_updates"] == applied
    all_fit(versions, has_own, "versions", "it has the updates that were applied in it", "a count of its own")
    aged = versions.groupby("server")["num_in_flight"].sum()
    staleness = updates.groupby("server")["staleness"].sum().reindex(aged.index, fill_value=0)
    enough = (aged >= staleness).reset_index(name="enough")
    all_fit(
        enough, enough["enough"], "versions", "staleness comes from what was in flight", "a job not counted"
    )


def clients_add_up(result: Result) -> None:
    """The sums of each client are its spans, transfers and ended jobs, added up."""
    if len(result.tallies):
        return
    own, spans, transfers, fates = result.clients, result.spans, result.transfers, result.fates
    fates = fates[fates["outcome"] != END_OF_RUN]
    arrived, left = (fates["outcome"].isin(words) for words in ((DONE,), BY_CLIENT))
    waits, ups = spans[spans["activity"] == WAIT], transfers["direction"] == UP
    for column, rows, node, amount in (
        ("energy_j", spans, "node", spans["energy_j"]),
        ("wait_s", waits, "node", waits["end_s"] - waits["start_s"]),
        ("sent_bits", transfers, "client", transfers["sent_bits"].where(ups, 0.0)),
        ("received_bits", transfers, "client", transfers["sent_bits"].mask(ups, 0.0)),
        ("num_jobs", fates, "client", pd.Series(1, fates.index)),
        ("num_arrived", fates, "client", arrived),
        ("num_left", fates, "client", left),
        ("num_late", fates, "client", ~(arrived | left)),
    ):
        sums = amount.groupby(rows[node]).sum().reindex(own["client"], fill_value=0).to_numpy(dtype=float)
        all_fit(
            own,
            np.isclose(own[column], sums, rtol=1e-9, atol=0.0),
            "clients",
            f"{column} must be the sum of the rows of a client",
            "rows that are changed after they were recorded",
        )


def _arrived(result: Result) -> pd.DataFrame:
    """Uploads that have arrived, without uploads that a server may leave out.

    It may where a client of lower number, whose update counts, arrived at the same instant of the round.
    """
    job = ["client", "job", "global_round", "edge_round"]
    instant = ["edge", "global_round", "edge_round", "end_s"]
    uploads = result.uploads[result.uploads["arrived"]]
    uploads = uploads.merge(result.fates[[*job, "outcome"]], on=job, how="left")
    counts = uploads["outcome"] == DONE
    places = {name: place for place, name in enumerate(sorted(set(uploads["client"]), key=by_number))}
    place = uploads["client"].map(places)
    before = place.where(counts).groupby([uploads[column] for column in instant]).transform("min")
    return uploads[counts | ~(before < place)]


LAWS: tuple[Law, ...] = (
    time_passes,
    energy_adds_up,
    rest_fills_the_gaps,
    bits_are_conserved,
    drops_are_counted,
    jobs_tell_all,
    updates_are_applied_once,
    versions_age_what_is_in_flight,
    clients_add_up,
)
"""Laws of the tables of one run."""


def same_tables(law: str, one: Result, other: Result, reason: str, *, learned: bool = True) -> None:
    """Two runs have the same tables and, where asked for, have learned the same weights.

    Raises:
        BrokenLaw: The first table, row and column in which they differ.
    """
    for name in (
        "spans",
        "transfers",
        "fates",
        "plans",
        "rounds",
        "versions",
        "updates",
        "clients",
        *(("evaluations",) if learned else ()),
    ):
        ours, theirs = getattr(one, name), getattr(other, name)
        if len(ours) != len(theirs):
            raise broken(law, f"{len(ours)} rows of {name}, and then {len(theirs)}", reason)
        for column in ours.columns:
            if column in theirs and not ours[column].equals(theirs[column]):
                row = int((ours[column] != theirs[column]).to_numpy().argmax())
                values = f"{ours[column][row]}, and then {theirs[column][row]}"
                raise broken(law, f"{column} of row {row} of {name} is {values}", reason)
    if learned and one.weights is not None and other.weights is not None:
        for name, values in one.weights.items():
            if not np.array_equal(values, other.weights[name], equal_nan=True):
                raise broken(law, f"the weights {name} differ", reason)


def all_fit(rows: pd.DataFrame, fits: Any, law: str, rule: str, reason: str) -> None:
    """Check a rule of one law for all rows.

    Raises:
        BrokenLaw: The first row that it does not fit.
    """
    if not fits.all():
        row = rows[~fits].iloc[0].to_dict()
        raise broken(law, f"{rule}, and {row} does not", reason)
