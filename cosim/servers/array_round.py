"""Array round: an edge round played as arrays, bit for bit as its events would have it.

Where the links know their downloads and uploads as arrays (`Way.uploads`) and the
rule of waiting is numbers, an edge round is a recurrence: a download ends where its link says, training
cycles / frequency later, an upload where its link says or where it is given up, and clients that have not
ended with the round are cut. The instants and products are those of `Client` and `Simulation.spend`, in their
order.

Scope and limitations: all participants train and send the same, without energy budgets. Uploads are given up
on links where that changes no other (`Uploads.stand_alone`).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.devices.assignment import Assignment
from cosim.devices.efforts import effort_of, sending_w
from cosim.devices.fleet import Clients
from cosim.instants import deadline_after, instant_after
from cosim.links.link import Job, Places
from cosim.links.payload import Payload
from cosim.links.upload import Uploads
from cosim.links.way import Way
from cosim.servers.rested import Rested
from cosim.servers.waiting import Waiting
from cosim.simulation import Simulation, impossible

GIVEN_UP = "deadline"
"""The outcome of an upload that is given up after its time, as `Simulation.with_deadline` has it."""


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
    """How an edge round ends by a rule of numbers, as its `wait` would have it.

    Args:
        arrives_s: When each update would arrive, in the order of their clients, shape (participants,).
        gives_up_s: When each upload is given up; None: never.
    """
    ends_s = arrives_s
    if gives_up_s is not None:
        ends_s = np.minimum(arrives_s, gives_up_s)
        arrives_s = np.where(arrives_s <= gives_up_s, arrives_s, np.inf)
    end_s, counts, num_wanted = ends_s.max(initial=start_s), None, rule.num_wanted
    if num_wanted is not None:
        first = np.argsort(arrives_s, kind="stable")[:num_wanted]
        counts = np.zeros(len(arrives_s), dtype=bool)
        counts[first] = True
        if len(first) == num_wanted and arrives_s[first[-1]] < math.inf:
            end_s = max(arrives_s[first[-1]], start_s)
    if rule.most_s < math.inf:
        end_s = min(end_s, deadline_after(start_s, rule.most_s))
    has_arrived = arrives_s <= end_s
    num_arrived = 0 if num_wanted is None else int(np.count_nonzero(has_arrived))
    return Ending(end_s, has_arrived if counts is None else counts & has_arrived, rule.reason(num_arrived))


class ArrayRound:
    """An edge round that has begun; arrays have shape (participants,).

    Attributes:
        clients: Who takes part.
        clock_s: When its clock starts, from which the rule of waiting counts.
        edge: Name of their edge server.
        download_bits: Of a download.
        upload_bits: Of an upload.
        received: What each would receive first; None: models are there at once.
        begins_s: When each would begin its training.
        train_w: Power of each meanwhile.
        trained_s: When each would end it.
        send_w: Power of each while it sends.
        uploads: What each would send then.
        gives_up_s: When each gives its upload up; None: never.
        ending: How the round ends.
        rested: What they did before it; None: they take no power then.
    """

    __slots__ = (
        "begins_s",
        "clients",
        "clock_s",
        "download_bits",
        "edge",
        "ending",
        "gives_up_s",
        "job",
        "received",
        "rested",
        "send_w",
        "start_s",
        "train_w",
        "trained_s",
        "upload_bits",
        "uploads",
    )

    def __init__(
        self,
        clients: Clients,
        work: Assignment,
        start_s: float,
        clock_s: float,
        received: Uploads | None,
        begins_s: NDArray[np.float64],
        train_w: NDArray[np.float64],
        trained_s: NDArray[np.float64],
        send_w: NDArray[np.float64],
        uploads: Uploads,
        gives_up_s: NDArray[np.float64] | None,
        ending: Ending,
        rested: Rested | None,
    ) -> None:
        self.clients, self.job, self.rested = clients, work.job, rested
        self.edge = work.route.edge
        self.download_bits, self.upload_bits = int(work.download.bits), int(work.payload.bits)
        self.start_s, self.clock_s, self.received, self.begins_s = start_s, clock_s, received, begins_s
        self.trained_s, self.uploads, self.gives_up_s = trained_s, uploads, gives_up_s
        self.train_w, self.send_w, self.ending = train_w, send_w, ending

    @classmethod
    def begun(
        cls,
        sim: Simulation,
        places: Places,
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
            places: Of the participants among the clients of the cell.
            work: What each is assigned, but for its cycles.
            cycles: Of each participant.
            received: What each receives first (`downloads_of`); None: models are there at once.
            receives_first: Whether all have received before the round's clock starts.
        """
        link, now_s, job = work.route.uplink, sim.now_s, work.job
        fleet, clock_s, begin_s = clients.fleet, now_s, now_s if received is None else received.ends_s
        if received is not None and receives_first:
            clock_s = begin_s = float(received.ends_s.max(initial=now_s))
        link.begin_round(len(clients), deadline_after(clock_s, waiting.most_s), places)
        begins_s = begin_s if isinstance(begin_s, np.ndarray) else np.full(len(clients), begin_s)
        lasts_s, train_w = effort_of(sim, clients, job, begins_s, cycles)
        _check_each(clients, "train", lambda: lasts_s, lasts_s >= 0.0)
        _check_each(clients, "train", lambda: lasts_s, lasts_s < math.inf)
        trained_s = instant_after(begin_s, lasts_s)
        own_w, which = sending_w(sim, clients, job, trained_s, work.payload.bits), clients.which
        send_w = fleet.send_w[which] if own_w is None else own_w + fleet.devices.static_power_w[which]
        uploads = link.uploads(places, trained_s, work.payload, job, own_w)
        if uploads is None:
            return None
        _check_order(clients, "send", trained_s, uploads)
        gives_up_s = None if waiting.upload_s is None else deadline_after(trained_s, waiting.upload_s)
        ending = ending_of(waiting, clock_s, uploads.ends_s, gives_up_s)
        rested = Rested.begun(clients, now_s)
        ways = received, begins_s, train_w, trained_s, send_w, uploads, gives_up_s
        played = cls(clients, work, now_s, clock_s, *ways, ending, rested)
        played.let_rest()  # another cell's evaluation may ask before it ends
        return played

    def cut(self, now_s: float, reason: str) -> None:
        """Note that the round is cut from outside, perhaps after its clients have ended."""
        end_s, _, own_reason = self.ending
        end_s, reason = (now_s, reason) if now_s < end_s else (end_s, own_reason)
        has_arrived = self.uploads.ends_s <= end_s
        if self.gives_up_s is not None:
            has_arrived &= self.uploads.ends_s <= self.gives_up_s
        self.ending = Ending(end_s, has_arrived, reason)

    @property
    def closes_s(self) -> float | NDArray[np.float64]:
        """When each closes its upload, if it has not ended."""
        return (
            self.ending.end_s if self.gives_up_s is None else np.minimum(self.gives_up_s, self.ending.end_s)
        )

    @property
    def ends_s(self) -> NDArray[np.float64]:
        """When each has ended, or is cut."""
        return np.minimum(self.uploads.ends_s, self.closes_s)

    def let_rest(self) -> None:
        """Let the rest of those begin who have ended, or were cut with the round."""
        if (rest := self.clients.fleet.rest) is not None:
            rest.since_s[self.clients.which] = self.ends_s

    @property
    def has_trained(self) -> NDArray[np.bool_]:
        """Whose training ends with the round or before."""
        return self.trained_s <= self.ending.end_s


def downloads_of(
    downlink: Way, now_s: float, places: Places, clients: Clients, payload: Payload, job: Job
) -> Uploads | None:
    """Downloads of an edge round that begins now, as arrays; None: it must be played by events.

    Args:
        places: Of the participants among the clients of the cell.
    """
    downlink.begin_round(len(clients), math.inf, places)
    opens_s = np.full(len(clients), now_s)
    downloads = downlink.uploads(places, opens_s, payload, job)
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
