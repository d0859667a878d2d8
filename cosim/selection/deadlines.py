"""Selection by a deadline: clients that are planned to have trained and sent by then.

The plan holds the training at the highest frequency, and the upload by the channel at the beginning of the
round. Neither rule cuts off a client: the deadline is only for the choice; a deadline for the round is
`waiting = Deadline`. If no client would be in time, the client that would end first takes part.

Scope and limitations: needs an uplink of which something is known. Downloads, and training times that are
drawn, are not planned.

Source: Nishio and Yonetani, "Client selection for federated learning with heterogeneous resources in mobile
edge", ICC 2019 (arXiv 1804.08333), Algorithm 3, whose uploads follow one another. If a link lets all send
side by side, the largest set of clients in time consists of the fastest, and bisection finds their number.
"""

import heapq

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import instant_after
from cosim.clock.simulation import Simulation
from cosim.configuration import knob, part, positive
from cosim.jobs.cell import Clients, Edge
from cosim.selection.coming_round import ComingRound
from cosim.selection.port import Selection, SomeClients


@part
class FedCs(Selection):
    """Most clients that can be done by a deadline.

    Attributes:
        deadline_s: The deadline, from the round's beginning. [Nishio and Yonetani, Section IV: 3 min]
    """

    deadline_s: float = knob(positive, default=1.0)

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """Choose the most clients that fit; asks for the channels of every client."""
        clients, train_s = coming.clients, coming.training_s(coming.clients)
        num_at_once = edge.route.uplink.link.known_to("FedCs").num_at_once
        if num_at_once is None:
            return clients.some(self._side_by_side(train_s, coming))
        upload_s = coming.upload_s(clients)
        return clients.some(np.array(one_by_one(train_s, upload_s, num_at_once, self.deadline_s)))

    def _side_by_side(self, train_s: NDArray[np.float64], coming: ComingRound) -> NDArray[np.int64]:
        """Choose by bisection of the number that share the band: the more clients, the later each ends."""

        def fastest(num: int) -> tuple[NDArray[np.int64], bool]:
            ends_s = instant_after(train_s, coming.upload_s(coming.clients, among=num))
            first = np.argsort(ends_s, kind="stable")[:num]
            return first, bool(ends_s[first[-1]] <= self.deadline_s)

        fits, too_many = 1, len(train_s) + 1
        while too_many - fits > 1:
            num = (fits + too_many) // 2
            fits, too_many = (num, too_many) if fastest(num)[1] else (fits, num)
        return fastest(fits)[0]


def one_by_one(
    train_s: NDArray[np.float64], upload_s: NDArray[np.float64], num_at_once: int, deadline_s: float
) -> list[int]:
    """Choose greedily if few may send at the same time: always the client that would finish first.

    Args:
        train_s: Duration of each training, shape (clients,).
        upload_s: Duration of each upload, shape (clients,).

    Returns:
        Places, at least one, in the order in which they end.
    """
    free_s, left_s, chosen = [0.0] * num_at_once, train_s.copy(), []
    while len(chosen) < len(train_s):
        ends_s = instant_after(np.maximum(left_s, free_s[0]), upload_s)
        first = int(np.argmin(ends_s))
        if chosen and ends_s[first] > deadline_s:
            break
        chosen.append(first)
        heapq.heapreplace(free_s, float(ends_s[first]))
        left_s[first] = np.inf
    return chosen


@part
class DeadlineFeasible(SomeClients):
    """A uniform draw among clients that would be in time beside the other participants.

    Attributes:
        deadline_s: The deadline, from the round's beginning. [no source]
    """

    deadline_s: float = knob(positive, default=1.0)

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """Draw participants, or take all in time if they are fewer; asks for the channel of every client."""
        clients, num = coming.clients, min(self.num_participants, len(coming.clients))
        ends_s = instant_after(coming.training_s(clients), coming.upload_s(clients, among=num))
        able = np.flatnonzero(ends_s <= self.deadline_s)
        if len(able) == 0:
            able = np.array([np.argmin(ends_s)])
        rng = sim.stream(edge.name, "participants", coming.job.number)
        return clients.some(rng.permutation(able)[:num])
