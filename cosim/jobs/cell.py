"""Cell: an edge server and its clients, as rules see them.

Rules of selection, of waiting and of local steps, and protocols, see no more of a cell than this page says::

    fast = [client for client in edge.clients if client.device.frequency_hz > 1e9]
    first = edge.clients.some(np.arange(5))
    edge.kept[self] = {client.name for client in fast}
"""

from abc import ABC, abstractmethod
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Event, Process, Simulation
from cosim.jobs.client_jobs import SomeClients
from cosim.jobs.job import Job, Places

if TYPE_CHECKING:
    from cosim.devices.device import Device
    from cosim.protocols.assignment import Assignment, Route


class Availability(Protocol):
    """Presence of a client that comes and goes."""

    @property
    def is_present(self) -> bool:
        """True if the client is present at this instant."""
        ...

    @property
    def is_over(self) -> bool:
        """True if it is never there again."""
        ...

    def change(self) -> Event:
        """Event at or before the next change, after which `is_present` is asked again."""
        ...

    def within(self, job: Process) -> Process:
        """Run a job as long as the client is present; returns its value, or `Dropped`."""
        ...


class Client(Protocol):
    """A device with its samples, which receives, trains and sends."""

    @property
    def alone(self) -> SomeClients:
        """Only this client, for functions of many clients."""
        ...

    @property
    def number(self) -> int:
        """Its number among all clients of the run, from 0."""
        ...

    @property
    def name(self) -> str:
        """Its name, which also names its draws."""
        ...

    @property
    def device(self) -> "Device":
        """Its device."""
        ...

    @property
    def tx_power_w(self) -> float:
        """Its highest transmit power."""
        ...

    @property
    def availability(self) -> Availability | None:
        """Its presence; None means that it is always there."""
        ...

    def local_round(self, sim: Simulation, assignment: "Assignment") -> Process:
        """Download, train, upload: one job of the client; returns its update, or `Dropped`."""
        ...

    @property
    def samples(self) -> NDArray[np.int64]:
        """Samples that the client has now, indices into the training set, at least one; read-only."""
        ...


class Clients(Sequence[Client], ABC):
    """Some clients of a run, in the order of their numbers."""

    @property
    @abstractmethod
    def numbers(self) -> NDArray[np.int64]:
        """Their numbers among all clients of the run, ascending, shape (clients,)."""

    @property
    @abstractmethod
    def names(self) -> Numbers:
        """Their names, which also name their draws."""

    @property
    @abstractmethod
    def present(self) -> "Clients":
        """Clients of these that are present at this instant."""

    @property
    @abstractmethod
    def are_there(self) -> NDArray[np.bool_]:
        """True for each client that is present at this instant, shape (clients,)."""

    @abstractmethod
    def some(self, chosen: NDArray[np.int64]) -> "Clients":
        """Clients at the given places, each once, in any order, without asking them one by one."""

    @abstractmethod
    def these(self, clients: Sequence[Client]) -> "Clients":
        """Clients of a sequence that is in the order of their numbers."""

    @abstractmethod
    def planned_s(self, sim: Simulation, job: Job, cycles: NDArray[np.float64]) -> NDArray[np.float64]:
        """Planned durations of trainings of the given cycles that begin now, shape (clients,)."""

    @abstractmethod
    def places_in(self, others: "Clients") -> Places:
        """Places of these clients among others that include them: an index for arrays over the others."""


class Edge(Protocol):
    """Server of a cell, between its clients and the cloud."""

    @property
    def name(self) -> str:
        """Its name, which also names a rule's draws: `sim.stream(edge.name, "my rule")`."""
        ...

    @property
    def clients(self) -> Clients:
        """All clients of its cell, including clients that are away."""
        ...

    @property
    def kept(self) -> MutableMapping[Any, Any]:
        """Memory of rules, each by itself: `edge.kept[self]`, which no equal rule shares."""
        ...

    @property
    def route(self) -> "Route":
        """Links of its cell: `edge.route.uplink.link.known_to("Mine")` is what is known of one beforehand."""
        ...

    def participants(self, sim: Simulation, num_participants: int | None) -> Clients:
        """Clients that are present at this instant: a given number, drawn uniformly, or all if None."""
        ...
