"""Laws: what the tables of every run fulfil."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.configuration import from_dict
from cosim.devices.device import DeviceArrays
from cosim.names import client_name
from cosim.records.rows import BY_CLIENT, DONE, END_OF_RUN, NO_ROUND, REST, UP, WAIT
from cosim.results.result import Result
from cosim.results.summary import COMPLETE
from cosim.system.system import System
from cosim.testing.laws.arrivals import drops_are_counted, jobs_tell_all
from cosim.testing.laws.broken import all_fit, broken, unfit
from cosim.testing.laws.columns import JOB, lengths_s, rows_of, sums_of

Law = Callable[[Result], None]


def time_passes(result: Result) -> None:
    """Activities have a length, a node's activities follow each other, and so do global rounds."""
    spans = result.spans
    node, start_s, end_s = (spans[name].to_numpy() for name in ("node", "start_s", "end_s"))
    all_fit(
        spans,
        (end_s > start_s) & (start_s >= 0.0) & np.isfinite(end_s),
        "time",
        "an activity must end after it starts, at a finite time",
        "a record that was written by hand; let time pass by sim.spend",
    )
    for place in _too_early([node], start_s, end_s, [start_s, end_s]):
        rule, reason = (
            f"two activities of {node[place]} overlap",
            "one node that is started twice, as a client",
        )
        raise unfit(spans, place, "time", rule, f"{reason}, as a client in two rounds at once")
    rounds = result.rounds
    level, node, start_s, end_s, *numbers = (
        rounds[name].to_numpy()
        for name in ("level", "node", "start_s", "end_s", "global_round", "edge_round")
    )
    backward = np.flatnonzero(end_s < start_s)
    for place in backward.tolist() + _too_early([level, node], start_s, end_s, numbers):
        rule = f"{level[place]} rounds of {node[place]} overlap"
        raise unfit(rounds, place, "time", rule, "a round that begins before the last one has been closed")


def _too_early(
    of: Sequence[NDArray[Any]],
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    by: Sequence[NDArray[Any]],
) -> list[int]:
    """Rows that start before the row before them, of the same node, has ended.

    Args:
        of: What names the node of each row.
        by: What orders the rows of a node, the most important first.
    """
    codes = [np.unique(names.astype(str), return_inverse=True)[1] for names in of]
    order = np.lexsort((*by[::-1], *codes))
    is_next = np.logical_and.reduce([code[order][1:] == code[order][:-1] for code in codes])
    before_s = np.concatenate([[0.0], np.where(is_next, end_s[order][:-1], 0.0)])[: len(order)]
    return order[start_s[order] < before_s].tolist()


def energy_adds_up(result: Result) -> None:
    """Energy is finite, not negative, waiting takes that of an idle client, and the sum is the run's."""
    spans = result.spans
    energy_j = spans["energy_j"].to_numpy()
    all_fit(
        spans,
        np.isfinite(energy_j) & (energy_j >= 0.0),
        "energy",
        "an activity must take a finite energy of at least 0",
        "a power below 0, or one that is not a number",
    )
    waiting = spans[(spans["activity"].to_numpy() == WAIT) & (energy_j > 0.0)]
    if len(waiting):
        takes_j = _idle_w(result, waiting["node"]) * (waiting["end_s"] - waiting["start_s"])
        rule = "waiting takes no more than the idle power"
        all_fit(waiting, waiting["energy_j"] <= takes_j, "energy", rule, "a power given to sim.spend")
    if not np.isclose(energy_j.sum(), result.summary.energy_j, rtol=1e-12):
        where = f"the spans have {energy_j.sum()} J, the summary has {result.summary.energy_j} J"
        raise broken("energy", where, "a summary of its own")


def _idle_w(result: Result, nodes: "pd.Series[str]") -> NDArray[np.float64]:
    """Of the device of each client; 0 for other nodes."""
    system = from_dict(System, result.config["system"])
    idle_w = DeviceArrays.of(system.devices.of_clients(Simulation(system.seed), system.sizes())).idle_w
    of_node = {client_name(number): power_w for number, power_w in enumerate(idle_w.tolist())}
    return np.array([of_node.get(node, 0.0) for node in nodes.to_numpy()])


def rest_fills_the_gaps(result: Result) -> None:
    """Activities of each client tile the whole run where devices take power at rest."""
    spans, end_s = result.spans, result.summary.time_s
    are_clients = np.array([node.startswith("client") for node in spans["node"].to_numpy()], dtype=bool)
    rests = np.isin(spans["activity"].to_numpy().astype(str), REST) & are_clients
    if result.summary.status != COMPLETE or not rests.any():
        return
    clients = spans[are_clients].sort_values(["node", "start_s"])
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
    transfers, spans = result.transfers, result.spans
    sent, payload = transfers["sent_bits"].to_numpy(), transfers["payload_bits"].to_numpy()
    all_fit(
        transfers,
        (sent >= 0.0) & (sent <= payload),
        "bits",
        "a transfer must carry from 0 to payload_bits",
        "bits_left that falls below 0 or rises",
    )
    all_fit(
        transfers,
        ~transfers["arrived"].to_numpy() | (sent == payload),
        "bits",
        "a transfer that has arrived must have carried all of its bits",
        "bits_left that is not 0 when `done` has come",
    )
    sending = np.isin(spans["activity"].to_numpy().astype(str), ["send", "receive", WAIT])
    busy_s = sums_of(spans["node"], np.where(sending, lengths_s(spans), 0.0))
    for client, lasted_s in sums_of(transfers["client"], lengths_s(transfers)).items():
        if not math.isclose(busy_s.get(client, 0.0), lasted_s, rel_tol=1e-9, abs_tol=1e-12):
            where = f"{client} waits, sends and receives for {busy_s.get(client, 0.0)} s, and its transfers "
            raise broken("bits", f"{where}last {lasted_s} s", "one that is not carried by Client")


def updates_are_applied_once(result: Result) -> None:
    """An update is applied once, after it has arrived, and as late as versions were made since it started."""
    updates = result.updates
    if not len(updates):
        return
    key = ["server", *JOB]
    all_fit(updates, ~updates.duplicated(key), "updates", "none is applied twice", "an arrival that is kept")
    between = updates["made_version"] - 1 - updates["started_version"]
    fits = (updates["staleness"] == between) & (between >= 0)
    all_fit(updates, fits, "updates", "staleness counts the versions between", "a count of another server")
    in_time = (updates["start_s"] <= updates["arrival_s"]) & (updates["arrival_s"] <= updates["applied_s"])
    all_fit(updates, in_time, "updates", "it starts, arrives and is applied in turn", "a time that is kept")
    fates = result.fates
    is_done = (fates["outcome"].to_numpy() == DONE) & (fates["edge_round"].to_numpy() == NO_ROUND)
    done = set(rows_of(fates[is_done], *JOB))
    own = updates[updates["client"].to_numpy() != updates["edge"].to_numpy()]
    arrived = np.array([job in done for job in rows_of(own, *JOB)], dtype=bool)
    all_fit(own, arrived, "updates", "only what has arrived is applied", "a dropped update that is applied")


def versions_age_what_is_in_flight(result: Result) -> None:
    """Versions go one by one, have their updates, and make staler by one all that is in flight."""
    versions, updates = result.versions, result.updates
    if not len(versions):
        return
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
    fates = fates[fates["outcome"].to_numpy() != END_OF_RUN]
    outcomes = fates["outcome"].to_numpy().astype(str)
    arrived, left = np.isin(outcomes, [DONE]), np.isin(outcomes, BY_CLIENT)
    waits, ups = spans["activity"].to_numpy() == WAIT, transfers["direction"].to_numpy() == UP
    sent = transfers["sent_bits"].to_numpy()
    for column, nodes, amounts in (
        ("energy_j", spans["node"], spans["energy_j"].to_numpy()),
        ("wait_s", spans["node"], np.where(waits, lengths_s(spans), 0.0)),
        ("sent_bits", transfers["client"], np.where(ups, sent, 0.0)),
        ("received_bits", transfers["client"], np.where(ups, 0.0, sent)),
        ("num_jobs", fates["client"], np.ones(len(fates))),
        ("num_arrived", fates["client"], arrived),
        ("num_left", fates["client"], left),
        ("num_late", fates["client"], ~(arrived | left)),
    ):
        sums = sums_of(nodes, amounts)
        all_fit(
            own,
            np.isclose(own[column], [sums.get(name, 0.0) for name in own["client"]], rtol=1e-9, atol=0.0),
            "clients",
            f"{column} must be the sum of the rows of a client",
            "rows that are changed after they were recorded",
        )


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
        first, second = getattr(one, name), getattr(other, name)
        if first.equals(second):
            continue
        if len(first) != len(second):
            raise broken(law, f"{len(first)} rows of {name}, and then {len(second)}", reason)
        for column in first.columns:
            if column in second and not first[column].equals(second[column]):
                row = int((first[column] != second[column]).to_numpy().argmax())
                values = f"{first[column][row]}, and then {second[column][row]}"
                raise broken(law, f"{column} of row {row} of {name} is {values}", reason)
    if learned and one.weights is not None and other.weights is not None:
        for name, values in one.weights.items():
            if not np.array_equal(values, other.weights[name], equal_nan=True):
                raise broken(law, f"the weights {name} differ", reason)
