"""Edge round: what the clients of a cell are asked to do together, and when it ends by a rule in numbers.

What became of each is a `PastRound`, and the updates that count, in the order of the clients.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import deadline_after
from cosim.clock.small_arrays import most_of
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


class Ending(NamedTuple):
    """How an edge round ends.

    Attributes:
        end_s: When; clients that have not ended by then are cut.
        counts: Whose update counts, shape (participants,).
        reason: Why the others' do not, but for uploads that were given up.
    """

    end_s: float
    counts: NDArray[np.bool_]
    reason: str


def ending_of(
    rule: Waiting, start_s: float, arrives_s: NDArray[np.float64], gives_up_s: NDArray[np.float64] | None
) -> Ending:
    """End of an edge round under a rule with numbers; the same as its `wait` gives by events.

    Args:
        arrives_s: When each update would arrive, in the order of their clients, shape (participants,).
        gives_up_s: When each upload is given up. None means never.
    """
    ends_s = arrives_s
    if gives_up_s is not None:
        ends_s = np.minimum(arrives_s, gives_up_s)
        arrives_s = np.where(arrives_s <= gives_up_s, arrives_s, np.inf)
    end_s, counts, num_wanted = max(most_of(ends_s), start_s), None, rule.num_wanted
    if num_wanted is not None:
        first = np.argsort(arrives_s, kind="stable")[:num_wanted]
        counts = np.zeros(len(arrives_s), dtype=bool)
        counts[first] = True
        if len(first) == num_wanted and arrives_s[first[-1]] < math.inf:
            end_s = max(arrives_s[first[-1]], start_s)
    if rule.deadline_s < math.inf:
        end_s = min(end_s, deadline_after(start_s, rule.deadline_s))
    has_arrived = arrives_s <= end_s
    num_arrived = 0 if num_wanted is None else int(np.count_nonzero(has_arrived))
    counts = has_arrived if counts is None else counts & has_arrived
    return Ending(float(end_s), counts, rule.reason(num_arrived))
