"""Rested: the rest of clients before an edge round that is played on arrays, and at the end of a run."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.devices.fleet import Clients, Fleet
from cosim.devices.rest import AtRest, Stretch
from cosim.records import DONE, NO_JOB, NO_ROUND, REST, Tally
from cosim.rows.trace import Columns, Words


class Rested(NamedTuple):
    """Rest that has ended for some clients; arrays have shape (clients,).

    Attributes:
        since_s: When each had ended its last activity, 0 before its first.
        is_idled: Whose idling is written down already.
        until_s: When all of it has ended.
        has_ended: False where only the idling is meant, and sleep goes on.
    """

    clients: Clients
    since_s: NDArray[np.float64]
    is_idled: NDArray[np.bool_]
    until_s: float
    has_ended: bool = True

    @classmethod
    def begun(cls, clients: Clients, now_s: float) -> "Rested | None":
        """That of clients whose activities begin now; None: their devices take no power at rest."""
        rest = clients.fleet.rest
        return None if rest is None else cls(clients, *rest.begin(clients.which, now_s), now_s)

    @classmethod
    def fallen_asleep(cls, fleet: Fleet, until_s: float) -> "Rested":
        """The idling of all clients that fell asleep by then, and are still at rest."""
        assert fleet.rest is not None
        numbers = fleet.rest.fall_asleep(until_s)
        none = np.zeros(len(numbers), dtype=bool)
        since_s = fleet.rest.since_s[numbers]
        return cls(Clients(fleet, numbers), since_s, none, until_s, has_ended=False)

    @property
    def stretches(self) -> tuple[Stretch, Stretch]:
        """Idling and sleeping."""
        at_rest = AtRest.of(self.clients.fleet.devices, self.clients.which)
        return at_rest.stretches(self.since_s, self.until_s)

    def tally(self, edge: str) -> Tally:
        """That of all clients of a cell at the end of a run, which belongs to no round."""
        idle, sleep = self.stretches
        values: dict[str, Any] = dict.fromkeys(Tally._fields, 0)
        values |= dict.fromkeys([name for name in values if name.startswith("upload_")], math.nan)
        values |= {"edge": edge, "global_round": NO_ROUND, "edge_round": NO_ROUND}
        values |= {"start_s": min(self.since_s.min(), self.until_s), "end_s": self.until_s}
        values |= {"idle_s": idle.lasts_s.sum(), "idle_j": idle.energy_j.sum()}
        values |= {"sleep_s": sleep.lasts_s.sum(), "sleep_j": sleep.energy_j.sum()}
        return Tally(**values)


def spans_of(rested: Sequence[Rested], clients: Words) -> list[Columns]:
    """Spans of idling and of sleeping.

    Args:
        clients: Names, one for each of all that have rested.
    """
    sizes = [len(of.since_s) for of in rested]
    since_s = np.concatenate([of.since_s for of in rested])
    until_s = np.repeat([of.until_s for of in rested], sizes)
    each = [AtRest.of(of.clients.fleet.devices, of.clients.which) for of in rested]
    at_rest = AtRest(*map(np.concatenate, zip(*each, strict=True)))
    is_written = (
        np.concatenate([of.is_idled for of in rested]),
        np.repeat([not of.has_ended for of in rested], sizes),
    )
    spans = []
    for activity, stretch in enumerate(at_rest.stretches(since_s, until_s)):
        which = np.flatnonzero((stretch.to_s > stretch.from_s) & ~is_written[activity])
        spans.append(
            {
                "node": clients[which],
                "activity": Words(REST, np.full(len(which), activity)),
                "start_s": stretch.from_s[which],
                "end_s": stretch.to_s[which],
                "energy_j": stretch.energy_j[which],
                "outcome": Words([DONE], np.zeros(len(which), dtype=np.int64)),
                "job": np.full(len(which), NO_JOB),
            }
        )
    return spans
