"""Link: the port of the channels between clients and their edge servers, for updates up and models down.

A `Link` gives each cell a `CellLink`, and a system has one in each direction. A client opens an upload on it,
waits without power until the upload is granted, sends until it is done, and closes it, even if a deadline
cuts it off. A download is an upload in the other direction: the client receives. What is known of a link
beforehand is a separate object, which planners and selection rules ask.

Scope and limitations: a sending client uses its transmit and its static power, a receiving one its receiving
and its static power; the energy of servers is not counted. Plans do not know the duration of a download, so
protocols that plan are refused if it counts.

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
        distance_m: Distances of the clients from the edge server.
        tx_power_w: Their highest transmit powers.
    """

    edge: str
    clients: Sequence[str]
    distance_m: NDArray[np.float64]
    tx_power_w: NDArray[np.float64]


class WrongDistance(ConfigurationError):
    """A client at a distance from its edge server that a link cannot have.

    The engine puts before it what gave the distance, such as a row of a table.

    Args:
        client: Name of the client.
        message: What is wrong with the distance, the rule and the fix.
    """

    def __init__(self, client: str, message: str) -> None:
        super().__init__(message)
        self.args = client, message  # from which pickle makes it again
        self.client = client


class KnownLink(ABC):
    """Knowledge of a cell's link at an instant, before anything is sent.

    Attributes:
        num_at_once: Clients that may send at the same time, while others wait; None means all.
    """

    num_at_once: int | None = None

    @abstractmethod
    def share_hz(self, num_clients: int) -> float:
        """Bandwidth that each of `num_clients` can count on in an edge round."""

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
        """Durations of some clients' uploads, once they are granted, shape (clients,).

        Args:
            num_clients: Number of participants.
            tx_power_w: Power of each, shape (clients,); None means its highest.
        """


class Course:
    """A client's rate over time; a link gives one for each client.

    Attributes:
        over_s: Instant after which nothing is known of it; infinite if never.
    """

    over_s: float = math.inf

    def end_s(self, start_s: float, bits: float) -> float:
        """Instant at which `bits` have been carried since a start; infinite if not before `over_s`."""
        raise NotImplementedError

    def bits(self, start_s: float, end_s: float) -> float:
        """Bits that are carried from one instant to a later one."""
        raise NotImplementedError

    def refuse(self) -> Exception:
        """Error for an upload that is not done when the course is over."""
        raise NotImplementedError


class Sender(NamedTuple):
    """A client that sends, or receives.

    Attributes:
        place: Its place among the clients of the cell.
        payload: Payload that it sends.
        tx_power_w: Its transmit power; None means that it receives.
        begins_s: Instant at which its upload is opened.
    """

    client: str
    place: int
    payload: Payload
    job: Job
    tx_power_w: float | None
    begins_s: float


class InRound(NamedTuple):
    """Uploads of the participants of an edge round, all with the same payload.

    Attributes:
        places: Places of the participants among the clients of the cell, ascending.
        begins_s: Instant at which each opens its upload, shape (participants,).
        payload: Payload of each.
        tx_power_w: Transmit power of each, shape (participants,); None means that they receive.
    """

    places: Places
    begins_s: NDArray[np.float64]
    payload: Payload
    job: Job
    tx_power_w: NDArray[np.float64] | None


class Sent(Protocol):
    """Uploads of a machine by their numbers, which are in the order of the clients.

    Attributes:
        in_round: All of them as arrays, in which a number is a place; None means that they come one by one.
    """

    @property
    def in_round(self) -> InRound | None: ...

    def __getitem__(self, number: int, /) -> Sender:
        """Client of the last upload with a number."""
        ...


class CellLink(Forms):
    """Link of the clients of a cell, in one direction.

    It is written in one form: `rates_bps`; `course`; `airtime_s`, if all begin together; `machine`, which
    they share; or `open`, and the system runs by events.

    Attributes:
        sends_while_queued: True if clients send, at their power, while their uploads wait behind others.
            Otherwise a waiting upload has an event `granted`.
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
        """Field of its part that makes the system run by events; empty for the part itself.

        None means that it also runs on arrays.
        """
        return "" if self.form == "events" else None

    @property
    def stands_alone(self) -> bool:
        """True if an upload that is closed changes no other, so that each may be given up."""
        return self.form not in ("together", "machine")

    def mean_snr(self) -> NDArray[np.float64] | None:
        """SNR of each client of the cell at its highest power, before fading, linear, shape (clients,).

        It is asked before the clock starts, for the table of clients. None means that there is none.
        """
        return None

    @property
    def known(self) -> KnownLink | None:
        """Knowledge of the link beforehand; None means nothing is known."""
        return None

    def known_to(self, asker: str) -> KnownLink:
        """Knowledge of the link, for a part that needs it.

        Raises:
            ConfigurationError: Nothing is known of it.
        """
        if self.known is None:
            raise ConfigurationError(
                f"{asker}: asks for rates and gains beforehand, which are not known for a "
                f"{type(self).__name__}. Use System.uplink = Radio with FixedShares, or a part that "
                "does not ask for them."
            )
        return self.known

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Begin an edge round of `num_clients` now, which ends by `ends_s`.

        In protocols without edge rounds, the number is that of clients that may send at the same time.
        """

    def rates_bps(
        self, sim: Simulation, clients: Numbers, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Rate of each client in a job, from the start to the end of its upload, shape (clients,).

        Args:
            clients: The participants of an edge round, ascending; else one client.
            tx_power_w: Transmit power of each, shape (clients,); None means that they receive.
        """
        raise NotImplementedError

    def course(self, client: str) -> Course:
        """Rate of a client over time."""
        raise NotImplementedError

    def airtime_s(self, payload: Payload) -> float:
        """Duration of uploads that all participants of an edge round begin together.

        They begin when all are ready, or at the last moment from which they still end in time.
        """
        raise NotImplementedError

    def machine(self, sent: Sent) -> Machine:
        """Resource that uploads share, in its initial state.

        By events one machine serves a run, on arrays each edge round has one; so it must reset itself in
        `begin_round`.

        Args:
            sent: The uploads, each known from the instant at which it begins.
        """
        raise NotImplementedError

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> Upload:
        """Begin an upload at this instant.

        Args:
            tx_power_w: Transmit power; None means that the client receives.
        """
        raise NotImplementedError

    def deviation_of_mean(self, places: Places, job: Job) -> Callable[[], float] | None:
        """Noise on the mean of the updates of some clients of the cell, as accumulated gradients.

        Returns:
            Function that gives the standard deviation for each parameter, called when the mean is read; None
            means that updates arrive one by one and free of noise.
        """
        return None


@part
class Link(Port, ABC):
    """Channel between clients and their edge servers, in one direction.

    Attributes:
        directions: Directions in which it can be used: up, for updates, or down, for models; set in the
            class.
    """

    directions: ClassVar[tuple[str, ...]] = (UP, DOWN)

    @classmethod
    @override
    def may_be(cls, field: str) -> bool:
        """True for an uplink or downlink in one of its directions."""
        return field.removesuffix("link") in cls.directions

    @property
    def takes_time(self) -> bool:
        """False if everything arrives at once."""
        return True

    @property
    def finite_moments(self) -> float:
        """Number of finite moments of an upload's time (`cosim.system.heavy_tails`)."""
        return math.inf

    @abstractmethod
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellLink]:
        """Link of each cell, in their order; asked once for a simulation."""
