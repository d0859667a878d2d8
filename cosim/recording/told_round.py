"""Told round: what the clients of an edge round on arrays did, told when the round is over.

It is as the events of one client in `cosim.recording.recorder`, with an array for each number. It is kept as
rows (`cosim.recording.many_rows`) or as a tally (`tally_of`). A client whose activity would begin after it is
cut has no row of it. Arrays have shape (clients,).
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.records.client_sums import ClientSums
from cosim.records.rows import BY_CLIENT, END_OF_RUN, NO_ROUND, UP, WAIT, Tally

if TYPE_CHECKING:
    from cosim.engine.clients.fleet import Clients
    from cosim.jobs.job import Job
    from cosim.links.upload import Uploads

GIVEN_UP = "deadline"
"""Outcome of an upload that exceeds its time limit, as in `Simulation.with_deadline`."""


class Cut(NamedTuple):
    """Cut of the clients that have not ended.

    Attributes:
        at_s: Instant of the cut, for all clients or for each.
        reason: Reason of a cut at the end of the round.
        is_given_up: True for each client that is cut before, by its own deadline; None if none has one.
    """

    at_s: float | NDArray[np.float64]
    reason: str
    is_given_up: NDArray[np.bool_] | None = None


class Spent(NamedTuple):
    """Activity of each client, unless it is cut before.

    Attributes:
        from_s: Instant at which each would begin.
        to_s: Instant at which each would end.
    """

    activity: str
    from_s: NDArray[np.float64]
    to_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    cut: Cut

    @property
    def lasts_s(self) -> NDArray[np.float64]:
        """Duration of each client's activity until its end or its cut."""
        return np.maximum(np.minimum(self.to_s, self.cut.at_s) - self.from_s, 0.0)


class Carried(NamedTuple):
    """Bits that each client sends (`UP`) or receives (`DOWN`), unless it is cut before.

    Attributes:
        opens_s: Instant at which each would open its upload or download.
    """

    direction: str
    opens_s: NDArray[np.float64]
    way: "Uploads"
    bits: int
    cut: Cut


class ToldRound(NamedTuple):
    """An edge round that is over.

    Attributes:
        edge: Name of the edge server.
        end_s: Instant at which the last client has ended.
        ends_s: Instant at which each client has ended.
        counts: True for each client whose update counts.
        cut: Cut of the others.
        rest: Sums over the clients' rest before it, where it is tallied (`Recorder.begin_round`).
    """

    clients: "Clients"
    edge: str
    job: "Job"
    start_s: float
    end_s: float
    ends_s: NDArray[np.float64]
    counts: NDArray[np.bool_]
    cut: Cut
    spans: Sequence[Spent]
    transfers: Sequence[Carried]
    rest: Mapping[str, float]

    @property
    def num_rows(self) -> int:
        """Approximate number of rows."""
        return len(self.counts) * (len(self.spans) + len(self.transfers) + 1)


QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "max": 1.0}
"""Quantiles of the time of an upload."""

_NOTHING: dict[str, Any] = {
    name: math.nan if name.startswith("upload_") else 0.0 if name.endswith(("_s", "_j")) else 0
    for name in Tally._fields
}


def tally_of(told: ToldRound, now_s: float, clients: ClientSums) -> Tally:
    """Tally of a round that ends now.

    Args:
        clients: Sums of each client of the run, to which its part is added.
    """
    which, (global_round, edge_round, _) = told.clients.which, told.job
    sums: dict[str, Any] = _NOTHING | dict(told.rest)
    for spent in told.spans:
        lasts_s = spent.lasts_s
        energy_j = spent.power_w * lasts_s
        sums[f"{spent.activity}_s"] += lasts_s.sum()
        sums[f"{spent.activity}_j"] += energy_j.sum()
        clients.add("energy_j", which, energy_j)
        if spent.activity == WAIT:
            clients.add("wait_s", which, lasts_s)
    for carried in told.transfers:
        each_bits = carried.bits - carried.way.bits_left(carried.cut.at_s)
        if carried.direction == UP:
            clients.add("sent_bits", which, each_bits)
            sums |= _uploaded(carried) | {"sent_bits": each_bits.sum()}
        else:
            clients.add("received_bits", which, each_bits)
            sums["received_bits"] += each_bits.sum()
    _add_outcomes(told, clients)
    sums |= {"edge": told.edge, "global_round": global_round, "edge_round": edge_round}
    sums |= {"start_s": told.start_s, "end_s": now_s}
    sums |= {"num_participants": len(told.clients), "num_arrived": int(told.counts.sum())}
    return Tally(**sums)


def _uploaded(carried: Carried) -> dict[str, Any]:
    """Number, bits and times of uploads."""
    _, opens_s, way, bits, cut = carried
    num_sent = int((opens_s <= cut.at_s).sum())
    took_s = np.sort((way.ends_s - opens_s)[way.ends_s <= cut.at_s])
    found: dict[str, Any] = {"num_trained": num_sent, "payload_bits": num_sent * bits}
    if num := len(took_s):
        for name, share in QUANTILES.items():
            found[f"upload_{name}_s"] = float(took_s[math.ceil(share * num) - 1])
    return found


def _add_outcomes(told: ToldRound, clients: ClientSums) -> None:
    """Add the outcome of each client's job to its sums."""
    which, cut, is_lost = told.clients.which, told.cut, ~told.counts
    clients.add("num_arrived", which, told.counts)
    if cut.is_given_up is not None:
        clients.add("num_late", which, is_lost & cut.is_given_up)
        is_lost &= ~cut.is_given_up
    if cut.reason != END_OF_RUN:
        clients.add("num_left" if cut.reason in BY_CLIENT else "num_late", which, is_lost)


def tally_of_rest(edge: str, start_s: float, end_s: float, rest: Mapping[str, float]) -> Tally:
    """Tally of the rest of a cell's clients at the end of a run, which belongs to no round."""
    sums: dict[str, Any] = {**_NOTHING, **rest, "edge": edge, "start_s": start_s, "end_s": end_s}
    sums |= {"global_round": NO_ROUND, "edge_round": NO_ROUND}
    return Tally(**sums)
