"""Array round: an edge round played as arrays, bit for bit as its events would have it.

Where the links know their downloads and uploads as arrays (`CellDownlink.downloads`, `Link.uploads`) and the
rule of waiting says from everybody's end when the round ends (`Waiting.ending`), an edge round is a
recurrence: a download ends where its link says, training cycles / frequency later, an upload where its link
says, and who has not ended with the round is cut. The instants and products are those of `Client` and
`Simulation.spend`, in their order.

Scope and limitations: all participants train and send the same, without energy budgets and upload deadlines.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cosim.devices.client import Assignment
from cosim.devices.fleet import Clients
from cosim.instants import deadline_after, instant_after
from cosim.links.downlink import CellDownlink
from cosim.links.payload import Payload
from cosim.links.uplink import Job, Link, Uploads
from cosim.servers.rested import Rested
from cosim.servers.waiting import Ending, Waiting
from cosim.simulation import Simulation, impossible


class ArrayRound:
    """An edge round that has begun; arrays have shape (participants,).

    Attributes:
        clients: Who takes part.
        download_bits: Of a download.
        upload_bits: Of an upload.
        received: What each would receive first; None: models are there at once.
        begins_s: When each would begin its training.
        trained_s: When each would end it.
        uploads: What each would send then.
        ending: How the round ends.
        rested: What they did before it; None: they take no power then.
    """

    __slots__ = (
        "begins_s",
        "clients",
        "download_bits",
        "ending",
        "job",
        "received",
        "rested",
        "start_s",
        "trained_s",
        "upload_bits",
        "uploads",
    )

    def __init__(
        self,
        clients: Clients,
        work: Assignment,
        start_s: float,
        received: Uploads | None,
        begins_s: NDArray[np.float64],
        trained_s: NDArray[np.float64],
        uploads: Uploads,
        ending: Ending,
        rested: Rested | None,
    ) -> None:
        self.clients, self.job, self.rested = clients, work.job, rested
        self.download_bits, self.upload_bits = int(work.download.bits), int(work.payload.bits)
        self.start_s, self.received, self.begins_s = start_s, received, begins_s
        self.trained_s, self.uploads, self.ending = trained_s, uploads, ending

    @classmethod
    def begun(
        cls,
        sim: Simulation,
        link: Link,
        clients: Clients,
        work: Assignment,
        cycles: NDArray[np.float64],
        waiting: Waiting,
        received: Uploads | None = None,
        *,
        receives_first: bool = False,
    ) -> "ArrayRound | None":
        """An edge round that begins now; None: it must be played by events.

        Args:
            link: Whose round begins.
            work: What each is assigned, but for its cycles.
            cycles: Of each participant.
            received: What each receives first (`downloads_of`); None: models are there at once.
            receives_first: Whether all have received before the round's clock starts.
        """
        fleet, now_s, job = clients.fleet, sim.now_s, work.job
        clock_s, begin_s = now_s, now_s if received is None else received.ends_s
        if received is not None and receives_first:
            clock_s = begin_s = float(received.ends_s.max(initial=now_s))
        link.begin_round(len(clients), deadline_after(clock_s, waiting.most_s))
        lasts_s = fleet.training_s(sim, clients.places, cycles, job.number)
        _check_each(clients, "train", lambda: lasts_s, lasts_s >= 0.0)
        _check_each(clients, "train", lambda: lasts_s, lasts_s < math.inf)
        trained_s = instant_after(begin_s, lasts_s)
        uploads = link.uploads(clients.places, trained_s, work.payload, fleet.devices.tx_power_w, job)
        if uploads is None:
            return None
        _check_order(clients, "send", trained_s, uploads)
        ending = waiting.ending(clock_s, uploads.ends_s)
        if ending is None:
            return None
        rested = Rested.begun(clients, now_s)
        begins_s = begin_s if isinstance(begin_s, np.ndarray) else np.full(len(clients), begin_s)
        played = cls(clients, work, now_s, received, begins_s, trained_s, uploads, ending, rested)
        played.let_rest()  # another cell's evaluation may ask before it ends
        return played

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


def downloads_of(
    downlink: CellDownlink, now_s: float, clients: Clients, payload: Payload, job: Job
) -> Uploads | None:
    """Downloads of an edge round that begins now, as arrays; None: it must be played by events."""
    downlink.begin_round(len(clients), clients.places)
    opens_s = np.full(len(clients), now_s)
    downloads = downlink.downloads(clients.places, opens_s, payload, job)
    if downloads is not None:
        _check_order(clients, "receive", opens_s, downloads)
    return downloads


def _check_order(clients: Clients, activity: str, opens_s: NDArray[np.float64], way: Uploads) -> None:
    """Refuse uploads or downloads that go back in time, as the clock does."""
    begins_s = opens_s
    if way.granted_s is not None:
        begins_s = way.granted_s
        _check_each(clients, "wait", lambda: begins_s - opens_s, begins_s >= opens_s)
    _check_each(clients, activity, lambda: way.ends_s - begins_s, way.ends_s >= begins_s)


def _check_each(
    clients: Clients, activity: str, lasts_s: Callable[[], NDArray[np.float64]], fits: NDArray[np.bool_]
) -> None:
    """Refuse durations that do not fit, as `Simulation.spend` does."""
    if np.count_nonzero(fits) < len(clients):
        place = int(fits.argmin())
        raise impossible(clients.names[place], activity, lasts_s().item(place))
