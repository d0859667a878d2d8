"""Array round: an edge round played as arrays, bit for bit as its events would have it.

Where downloads take no time, a link knows its uploads as arrays (`Link.uploads`) and the rule of waiting says
from everybody's end when the round ends (`Waiting.ending`), an edge round is a recurrence: training ends at
start + cycles / frequency, an upload where the link says, and who has not ended with the round is cut. The
sums and products are those of `Client` and `Simulation.spend`, in their order.

Scope and limitations: all participants train and send the same, without energy budgets and upload deadlines.
"""

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import overrides
from cosim.devices.fleet import Clients
from cosim.links.payload import Payload
from cosim.links.uplink import Job, Link, Uploads
from cosim.servers.rested import Rested
from cosim.servers.waiting import Ending, Waiting
from cosim.simulation import Simulation


class ArrayRound:
    """An edge round that has begun; arrays have shape (participants,).

    Attributes:
        clients: Who takes part.
        bits: Of an upload.
        trained_s: When each would end its training.
        uploads: What each would send then.
        ending: How the round ends.
        rested: What they did before it; None: they take no power then.
    """

    __slots__ = ("bits", "clients", "ending", "job", "rested", "start_s", "trained_s", "uploads")

    def __init__(
        self,
        clients: Clients,
        job: Job,
        bits: int,
        start_s: float,
        trained_s: NDArray[np.float64],
        uploads: Uploads,
        ending: Ending,
        rested: Rested | None,
    ) -> None:
        self.clients, self.job, self.bits, self.rested = clients, job, bits, rested
        self.start_s, self.trained_s, self.uploads, self.ending = start_s, trained_s, uploads, ending

    @classmethod
    def begun(
        cls,
        sim: Simulation,
        link: Link,
        clients: Clients,
        job: Job,
        payload: Payload,
        cycles: NDArray[np.float64],
        waiting: Waiting,
    ) -> "ArrayRound | None":
        """An edge round that begins now; None: it must be played by events.

        Args:
            link: Whose round has begun.
            payload: Of an upload.
            cycles: Of each participant.
        """
        if not (overrides(link, "uploads", "open") and overrides(waiting, "ending", "wait")):
            return None
        fleet, now_s = clients.fleet, sim.now_s
        trained_s = now_s + fleet.training_s(sim, clients.places, cycles, job.number)
        uploads = link.uploads(clients.places, trained_s, payload, fleet.devices.tx_power_w, job)
        if uploads is None:
            return None
        ending = waiting.ending(now_s, uploads.ends_s)
        if ending is None:
            return None
        rested = Rested.begun(clients, now_s)
        return cls(clients, job, int(payload.bits), now_s, trained_s, uploads, ending, rested)

    def cut(self, now_s: float, reason: str) -> None:
        """Note that the round is cut from outside."""
        self.ending = Ending(now_s, self.uploads.ends_s <= now_s, reason)

    def let_rest(self) -> None:
        """Let the rest of those begin who have ended, or were cut with the round."""
        if (rest := self.clients.fleet.rest) is not None:
            rest.since_s[self.clients.places] = np.minimum(self.uploads.ends_s, self.ending.end_s)

    @property
    def has_trained(self) -> NDArray[np.bool_]:
        """Whose training ends with the round or before."""
        return self.trained_s <= self.ending.end_s
