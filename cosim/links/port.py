"""Link: the port of the ways between clients and their edge servers, of updates up and of models down.

A `Link` gives each cell a `CellLink`, and a system has one in each direction. A client opens an upload on it,
waits without power until the upload is granted, sends until it is done, and closes it, also where a deadline
cuts it off. A download is an upload that goes the other way: the client receives.
What is known of a link beforehand is an object of its own, which planners and selection rules ask.

Scope and limitations: a client that sends takes its transmit and its static power, one that receives its
receiving and its static power; what servers take is not counted. No plan knows how long a download takes, so
protocols that plan are refused where it counts.

Usage::

    @part
    class Cable(Link):
        \"\"\"A cable from each client to its edge server.

        Attributes:
            rate_bps: Rate of a cable. [no source]
        \"\"\"

        rate_bps: float = knob(positive, default=1e6)

        def of_cells(self, sim, cells):
            return [CableLink(self.rate_bps) for _ in cells]

    class CableLink(CellLink):
        def __init__(self, rate_bps):
            self.rate_bps = rate_bps

        def rates_bps(self, sim, clients, job, tx_power_w):
            return np.full(len(clients), self.rate_bps)
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Forms, Port, one_of, part
from cosim.jobs.job import Job, Places
from cosim.jobs.payload import Payload
from cosim.links.machine import Machine
from cosim.links.upload import Upload
from cosim.records.rows import DOWN, UP


class Cell(NamedTuple):
    """A cell as a link sees it; arrays have shape (clients,).

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


class KnownLink(ABC):
    """What is known of a cell's link at an instant, before anything is sent.

    Attributes:
        num_at_once: Clients that may send at the same time, while others wait; None: all.
    """

    num_at_once: int | None = None

    @abstractmethod
    def share_hz(self, num_clients: int) -> float:
        """The bandwidth that each of `num_clients` can count on in an edge round."""

    @abstractmethod
    def snr_per_w(self, places: Places, bandwidth_hz: float, job: Job) -> NDArray[np.float64]:
        """SNR of some clients of the cell that send at 1 W in a bandwidth, shape (clients,)."""

    @abstractmethod
    def upload_s(
        self,
        places: Places,
        payload: Payload,
        num_clients: int,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """How long the uploads of some clients of the cell take, once they are granted, shape (clients,).

        Args:
            num_clients: How many take part.
            tx_power_w: Of each of them, shape (clients,); None: its highest.
        """


class Course:
    """How a client's rate goes on by itself; a link gives one for each client.

    Attributes:
        over_s: When it is over, and nothing is known of it; infinity: never.
    """

    over_s: float = math.inf

    def end_s(self, start_s: float, bits: float) -> float:
        """When `bits` have been carried since an instant; infinity: never, or not before it is over."""
        raise NotImplementedError

    def bits(self, start_s: float, end_s: float) -> float:
        """Bits that are carried from one instant to a later one."""
        raise NotImplementedError

    def refuse(self) -> Exception:
        """The error of an upload that is not done when it is over."""
        raise NotImplementedError


class Sender(NamedTuple):
    """A client that sends, or receives.

    Attributes:
        place: Its place among the clients of the cell.
        payload: What it sends.
        tx_power_w: Its transmit power; None: it receives.
        begins_s: When its upload is opened.
    """

    client: str
    place: int
    payload: Payload
    job: Job
    tx_power_w: float | None
    begins_s: float


class InRound(NamedTuple):
    """What the participants of an edge round send, who all send the same.

    Attributes:
        places: Those of the participants among the clients of the cell, ascending.
        begins_s: When each opens its upload, shape (participants,).
        payload: What each sends.
        tx_power_w: Transmit power of each, shape (participants,); None: they receive.
    """

    places: Places
    begins_s: NDArray[np.float64]
    payload: Payload
    job: Job
    tx_power_w: NDArray[np.float64] | None


class Sent(Protocol):
    """The uploads of a machine, by their numbers, which are in the order of the clients.

    Attributes:
        in_round: All of them as arrays, whose places are their numbers; None: they come one by one.
    """

    @property
    def in_round(self) -> InRound | None: ...

    def __getitem__(self, number: int, /) -> Sender:
        """The client of the last upload with a number."""
        ...


class CellLink(Forms):
    """What the clients of a cell send over, or receive.

    It is written in one form: `rates_bps`; `course`; `airtime_s`, where all begin together; `machine`, which
    they share; or `open`, and the system is played by events.

    Attributes:
        sends_while_queued: True if clients send, at their power, while what they have sent waits behind that
            of others. Else an upload that waits has an event `granted`.
        ends_together: True if the uploads of an edge round end at the same instant.
    """

    forms = one_of(
        rates=("rates_bps",),
        course=("course",),
        together=("airtime_s",),
        machine=("machine",),
        events=("open",),
    )
    sends_while_queued: ClassVar[bool] = False
    ends_together: ClassVar[bool] = False

    @property
    def by_events(self) -> str | None:
        """The field of its part because of which the system is played by events; empty: the part itself.

        None: it is played on arrays, too.
        """
        return "" if self.form == "events" else None

    @property
    def stands_alone(self) -> bool:
        """True if an upload that is closed changes no other, so that each may be given up."""
        return self.form not in ("together", "machine")

    @property
    def known(self) -> KnownLink | None:
        """What is known of it beforehand; None: nothing."""
        return None

    def known_to(self, asker: str) -> KnownLink:
        """What is known of it, for a part that needs it.

        Raises:
            ConfigurationError: Nothing is known of it.
        """
        if self.known is None:
            raise ConfigurationError(
                f"{asker}: asks for rates and gains beforehand, and of a {type(self).__name__} none are "
                "known. Use System.uplink = Radio with FixedShares, or a part that asks for neither."
            )
        return self.known

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Take note of an edge round of `num_clients` that begins now and ends by `ends_s`.

        For protocols without edge rounds: of as many clients as may send at the same time.
        """

    def rates_bps(
        self, sim: Simulation, clients: Numbers, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Rate of each client in a job, from the begin to the end of its upload, shape (clients,).

        Args:
            clients: The participants of an edge round, ascending; else one client.
            tx_power_w: Transmit power of each, shape (clients,); None: they receive.
        """
        raise NotImplementedError

    def course(self, client: str) -> Course:
        """How a client's rate goes on by itself."""
        raise NotImplementedError

    def airtime_s(self, payload: Payload) -> float:
        """How long uploads last that all participants of an edge round begin together.

        They begin when all are there, or at the last moment from which they still end in time.
        """
        raise NotImplementedError

    def machine(self, sent: Sent) -> Machine:
        """What uploads share, as long as none has begun.

        By events one machine serves a run, on arrays each edge round has one; so it must forget in
        `begin_round` what was before.

        Args:
            sent: The uploads, each known by the instant at which it begins.
        """
        raise NotImplementedError

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> Upload:
        """Begin an upload at this instant.

        Args:
            tx_power_w: Transmit power; None: the client receives.
        """
        raise NotImplementedError

    def deviation_of_mean(self, places: Places, job: Job) -> Callable[[], float] | None:
        """Noise on the mean of what some clients of the cell have sent, in the accumulated gradients.

        Returns:
            Finds the standard deviation for each parameter, when the mean is read; None: updates arrive one
            by one and free of noise.
        """
        return None


@part
class Link(Port, ABC):
    """The way between clients and their edge servers, in one direction.

    Attributes:
        directions: In which it can be used: up, for updates, or down, for models; a class says so.
    """

    directions: ClassVar[tuple[str, ...]] = (UP, DOWN)

    @classmethod
    @override
    def may_be(cls, field: str) -> bool:
        """Of uplink and downlink those of its directions."""
        return field.removesuffix("link") in cls.directions

    @property
    def takes_time(self) -> bool:
        """False if everything arrives at once."""
        return True

    @property
    def finite_moments(self) -> float:
        """How many moments of the time of an upload are finite (`cosim.engine.run.heavy_tails`)."""
        return math.inf

    @abstractmethod
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellLink]:
        """The link of each cell, in their order; asked once for a simulation."""
