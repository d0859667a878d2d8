"""Uplink: the port of the ways on which updates travel from clients to their edge servers.

An uplink gives each cell a link. A client opens an upload on it, waits without power until the upload is
granted, sends at its transmit power until it is done, and closes it, also where a deadline cuts it off.
What is known of a link beforehand is an object of its own, which planners and selection rules ask.

Usage::

    @configuration
    class Cable(Uplink):
        \"\"\"A cable from each client to its edge server.

        Attributes:
            rate_bps: Rate of a cable. [no source]
        \"\"\"

        rate_bps: float = field(positive, default=1e6)

        def links(self, sim, cells):
            return [CableLink(sim, self.rate_bps) for _ in cells]

    class CableLink(Link):
        def __init__(self, sim, rate_bps):
            self.sim, self.rate_bps = sim, rate_bps

        def open(self, client, payload, tx_power_w, job):
            return SteadyUpload(self.sim, payload.bits, self.rate_bps)
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    HELPERS,
    ConfigurationError,
    Port,
    Shortcuts,
    configuration,
    passed_over,
    stand_for,
)
from cosim.instants import instant_after
from cosim.links.payload import Payload
from cosim.simulation import Event, Simulation

Places = NDArray[np.int64] | slice
"""Which clients of a cell."""


class Job(NamedTuple):
    """What a client is asked to do once.

    Attributes:
        global_round: From 1; `NO_ROUND` where it belongs to none, as the edge round.
        number: Of the edge rounds since the start, from 0, or of the client's own jobs.
    """

    global_round: int
    edge_round: int
    number: int

    @classmethod
    def of_round(cls, global_round: int, edge_round: int, num_edge_rounds: int) -> "Job":
        """Everybody's in an edge round; global rounds are counted from 1, edge rounds from 0."""
        return cls(global_round, edge_round, (global_round - 1) * num_edge_rounds + edge_round)


class Cell(NamedTuple):
    """A cell as an uplink sees it; arrays have shape (clients,).

    Attributes:
        edge: Name of its edge server.
        clients: Names of its clients, in their order.
        distance_m: Distances of the clients to the edge server.
        tx_power_w: Their highest transmit powers.
    """

    edge: str
    clients: Sequence[str]
    distance_m: NDArray[np.float64]
    tx_power_w: NDArray[np.float64]


class Upload(ABC):
    """An upload on its way, or a download, which goes the other way.

    Attributes:
        done: Comes when all of it has arrived.
        granted: Comes when the client may begin to send; None: it may at once.
        turn_over: Comes when the client has to stop and wait for `granted` once more, another event by then;
            None: it may send to the end. It is read when the client begins to send.
    """

    done: Event
    granted: Event | None = None
    turn_over: Event | None = None

    @property
    @abstractmethod
    def bits_left(self) -> float:
        """Bits that have not been sent, once it is closed."""

    def close(self) -> None:  # noqa: B027
        """End it, done or not, and free what it holds."""


class SteadyUpload(Upload):
    """An upload at one rate that nothing changes; it never ends where that is 0.

    Args:
        wait_s: How long the client waits before it sends.
    """

    def __init__(self, sim: Simulation, bits: float, rate_bps: float, wait_s: float = 0.0) -> None:
        start_s = instant_after(sim.now_s, wait_s)
        self.granted = sim.at(start_s) if wait_s > 0.0 else None
        self.done = sim.event() if rate_bps == 0.0 else sim.at(instant_after(start_s, bits / rate_bps))
        self._sim, self._bits, self._rate_bps, self._start_s = sim, bits, rate_bps, start_s

    @property
    def sent_s(self) -> float:
        """How long it has been sending."""
        return max(0.0, self._sim.now_s - self._start_s)

    @property
    def bits_left(self) -> float:
        """What has not been sent by now."""
        return 0.0 if self.done.processed else max(0.0, self._bits - self._rate_bps * self.sent_s)


class Uploads(ABC):
    """Uploads of an edge round as arrays of shape (participants,).

    Attributes:
        granted_s: When each client may begin to send; None: at once.
        ends_s: When all of it has arrived.
        stand_alone: Whether one that is closed changes no other, so that each may be given up.
    """

    granted_s: NDArray[np.float64] | None = None
    ends_s: NDArray[np.float64]
    stand_alone: ClassVar[bool] = False

    @abstractmethod
    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Bits of each that have not been sent when it is closed, 0 where it has ended.

        Args:
            cut_s: When all are closed; where they stand alone also when each is.
        """


class SteadyUploads(Uploads):
    """Uploads that begin at once, each at one rate that nothing changes; infinite where that is 0.

    Args:
        begins_s: When each begins, shape (participants,).
        rate_bps: Shape (participants,).
    """

    stand_alone = True

    def __init__(self, begins_s: NDArray[np.float64], bits: float, rate_bps: NDArray[np.float64]) -> None:
        self._begins_s, self._bits, self._rate_bps = begins_s, bits, rate_bps
        if rate_bps.all():
            self.ends_s = instant_after(begins_s, bits / rate_bps)
        else:
            with np.errstate(divide="ignore"):
                self.ends_s = instant_after(begins_s, bits / rate_bps)

    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """What has not been sent at that rate."""
        left = np.maximum(0.0, self._bits - self._rate_bps * (cut_s - self._begins_s))
        return np.where(self.ends_s <= cut_s, 0.0, np.minimum(left, self._bits))


class ByEvents(NamedTuple):
    """Why a link is played by events.

    Attributes:
        field: The field of its part that has no arrays; None: the part as a whole.
        method: The method, as Class.method, for which arrays do not stand; None: there are none.
    """

    field: str | None
    method: str | None


class KnownLink(ABC):
    """What is known of a cell's link at an instant, before anything is sent.

    Attributes:
        num_at_once: Clients that may send at the same time, while others wait; None: all.
    """

    num_at_once: int | None = None

    @abstractmethod
    def share_hz(self, num_clients: int) -> float:
        """The bandwidth that each of so many clients can count on in an edge round."""

    @abstractmethod
    def snr_per_w(self, client: str, bandwidth_hz: float, job: Job) -> float:
        """SNR of a client that sends at 1 W in a bandwidth."""

    @abstractmethod
    def upload_s(self, client: str, payload: Payload, tx_power_w: float, num_clients: int, job: Job) -> float:
        """How long an upload takes, once it is granted, where so many clients take part."""


class Link(Shortcuts, ABC):
    """What the clients of a cell send over.

    Attributes:
        sends_while_queued: Whether clients send, at their power, while what they have sent waits behind that
            of others; a class says so. Else an upload that waits has an event `granted`.
    """

    sends_while_queued: ClassVar[bool] = False

    shortcuts = stand_for(uploads=("open", HELPERS))

    @property
    def known(self) -> KnownLink | None:
        """What is known of it beforehand; None: nothing."""
        return None

    def known_to(self, asker: str) -> KnownLink:
        """What is known of it, for somebody who cannot go without.

        Raises:
            ConfigurationError: Nothing is known of it.
        """
        if self.known is None:
            raise ConfigurationError(
                f"{asker}: asks for rates and gains beforehand, and of a {type(self).__name__} none are "
                "known. Usual fix: System.uplink = Radio with FixedShares, or a part that goes without."
            )
        return self.known

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Take note of an edge round of so many clients that begins now and ends by then."""

    def by_events(self) -> ByEvents:
        """Why `uploads` knows no arrays."""
        return ByEvents(None, passed_over(self))

    @abstractmethod
    def open(self, client: str, payload: Payload, tx_power_w: float, job: Job) -> Upload:
        """Begin an upload at this instant."""

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        tx_power_w: NDArray[np.float64],
        job: Job,
    ) -> "Uploads | None":
        """The uploads of the edge round that has begun, as arrays, where their ends follow from their begins.

        To the last bit those of `open`, if none is closed before it is done but all at once at the end of the
        round. None: the round is played by events.

        Args:
            places: The participants' among the clients of the cell, ascending.
            begins_s: When each would open its upload, shape (participants,), none before this instant.
            tx_power_w: Transmit power of each client of the cell, shape (clients,).
        """
        return None

    def deviation_of_mean(self, powers_w: Mapping[str, float], job: Job) -> Callable[[], float] | None:
        """Noise on the mean of what these clients have sent, in the accumulated gradients.

        Args:
            powers_w: Client -> its highest transmit power.

        Returns:
            Finds the standard deviation for each parameter, when somebody reads the mean; None: updates
            arrive one by one and free of noise.
        """
        return None


@configuration
class Uplink(Port, ABC):
    """The way on which updates travel from clients to their edge servers."""

    @property
    def loses_updates(self) -> bool:
        """Whether some uploads never end; then a protocol that waits for all is refused."""
        return False

    @property
    def adds_up(self) -> bool:
        """Whether only the mean of a cell's updates arrives; then a protocol that wants each is refused."""
        return False

    @property
    def finite_moments(self) -> float:
        """How many moments of the time of an upload are finite (`cosim.beforehand.heavy_tails`)."""
        return math.inf

    def fit(self, system: Any) -> None:
        """Refuse protocols that wait for what never comes, or want what does not arrive."""
        own, protocol = type(self).__name__, type(system.protocol).__name__
        if self.loses_updates and not system.protocol.waiting.gives_up:
            raise ConfigurationError(
                f"System.uplink = {own}: some uploads never end, and {protocol} waits for every one. Usual "
                "fix: a deadline (waiting = Deadline), a policy that keeps to its own, or no outages."
            )
        if self.adds_up and not system.protocol.takes_sums:
            raise ConfigurationError(
                f"System.uplink = {own}: only the mean of a cell's updates arrives, and {protocol} needs "
                "them one by one. Usual fix: sharing = FixedShares, or protocol Hist or HFedAvg."
            )

    @abstractmethod
    def links(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[Link]:
        """The link of each cell, in their order; asked once for a simulation."""
