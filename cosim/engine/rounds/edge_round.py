"""Edge round: what the clients of a cell are asked to do together.

What became of each is a `PastRound`, and the updates that count, in the order of the clients.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.engine.clients.client import Client
from cosim.engine.clients.fleet import Clients
from cosim.jobs.past_round import PastRound
from cosim.protocols.assignment import Assignment
from cosim.waiting.port import Waiting


@attrs.frozen(kw_only=True, eq=False)
class EdgeRound:
    """An edge round that begins now.

    Attributes:
        clients: Its participants, possibly none, in the order of their numbers.
        work: What each of them does, but for what differs.
        each: Field of `Assignment` -> its value for each participant, where they differ.
        waiting: How long the server waits for them.
    """

    clients: Clients
    work: Assignment
    each: Mapping[str, Sequence[Any] | NDArray[Any]]
    waiting: Waiting

    def over(self, start_s: float, ends_s: NDArray[np.float64], arrived: NDArray[np.bool_]) -> PastRound:
        """The round when it is over, which began at an instant; arrays have shape (participants,)."""
        return PastRound(self.clients, self.work.job, start_s, ends_s, arrived)

    def assignments(self) -> list[tuple[Client, Assignment]]:
        """Assignment of each participant; participants that do the same share one."""
        assigned = partial(Assignment, **attrs.asdict(self.work, recurse=False))
        if self.waiting.upload_deadline_s is not None:
            assigned.keywords["upload_deadline_s"] = self.waiting.upload_deadline_s
        if not self.each:
            same = assigned()
            return [(client, same) for client in self.clients]
        columns = [of.tolist() if isinstance(of, np.ndarray) else of for of in self.each.values()]
        own = list(zip(*columns, strict=True))
        made = {values: assigned(**dict(zip(self.each, values, strict=True))) for values in set(own)}
        return [(client, made[values]) for client, values in zip(iter(self.clients), own, strict=True)]


def at_least(sim: Any, edge: str, least_s: float, process: Any) -> Any:
    """Run a process to its end, and let the server collect until a least time is up; returns its value."""
    if not least_s:
        return (yield from process)
    value, _ = yield from sim.together([process, sim.spend(edge, "collect", least_s)])
    return value
