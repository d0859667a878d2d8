"""Fleet: the clients of a cell, as arrays in their order, and one by one when somebody asks."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from cosim.devices.availability import Availability
from cosim.devices.client import Client
from cosim.devices.devices import DeviceArrays
from cosim.devices.rest import Rest
from cosim.devices.training_time import TrainingTime
from cosim.draws import Numbers
from cosim.links.link import Job, Places
from cosim.simulation import Simulation


class Fleet:
    """The clients of a cell.

    Args:
        edge: Name of its edge server.
        names: In the order of their numbers.
        make: Gives the client at a place of this order.
        rest: Theirs between their activities; None: they take no power then.

    Attributes:
        availabilities: Whether each is there, in this order; None: all always are.
    """

    def __init__(
        self,
        edge: str,
        names: Sequence[str],
        devices: DeviceArrays,
        availabilities: Sequence[Availability] | None,
        make: Callable[[int], Client],
        rest: Rest | None = None,
    ) -> None:
        self.edge, self.names, self.devices, self.rest = edge, names, devices, rest
        self.availabilities = availabilities
        self._make = make
        self._made: dict[int, Client] = {}

    def client(self, place: int) -> Client:
        """The client at a place."""
        found = self._made.get(place)
        if found is None:
            found = self._made[place] = self._make(place)
        return found

    def are_there(self) -> NDArray[np.bool_]:
        """Who is there at this instant, shape (clients,)."""
        if self.availabilities is None:
            return np.ones(len(self.names), dtype=bool)
        return np.array([one.is_there for one in self.availabilities], dtype=bool)

    @cached_property
    def numbers(self) -> Numbers:
        """What they draw by."""
        return Numbers.of(self.names)

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Name -> place."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def train_w(self) -> NDArray[np.float64]:
        """Their powers while they train."""
        return self.devices.train_w

    @cached_property
    def send_w(self) -> NDArray[np.float64]:
        """Their powers while they send."""
        return self.devices.tx_power_w + self.devices.static_power_w

    @cached_property
    def receive_w(self) -> NDArray[np.float64]:
        """Their powers while they receive."""
        return self.devices.receive_w + self.devices.static_power_w

    @cached_property
    def laws(self) -> Sequence[tuple[TrainingTime, NDArray[np.bool_] | None]]:
        """Laws of training times, each with the clients that have it, shape (clients,); None: all have."""
        law = self.devices.training_time
        if isinstance(law, TrainingTime):
            return [(law, None)]
        return [(one, np.array([own == one for own in law])) for one in dict.fromkeys(law)]


class Clients(Sequence[Client]):
    """Some clients of a cell, in the order of their numbers.

    Args:
        places: Theirs in the fleet, ascending; None: everybody.
    """

    def __init__(self, fleet: Fleet, places: NDArray[np.int64] | None = None) -> None:
        self.fleet = fleet
        self.places: Places = slice(None) if places is None else places
        self._order = range(len(fleet.names)) if places is None else places

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> Client: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Client, ...]: ...
    def __getitem__(self, place: int | slice) -> Client | tuple[Client, ...]:
        if isinstance(place, slice):
            return tuple(self.fleet.client(int(one)) for one in self._order[place])
        return self.fleet.client(int(self._order[place]))

    @property
    def names(self) -> Sequence[str]:
        """Their names, in this order."""
        return [self.fleet.names[place] for place in map(int, self._order)]

    @cached_property
    def numbers(self) -> Numbers:
        """What they draw by."""
        own = self.places
        return self.fleet.numbers if isinstance(own, slice) else self.fleet.numbers.some(own)

    def training_s(self, sim: Simulation, cycles: NDArray[np.float64], job: Job) -> NDArray[np.float64]:
        """How long each trains in a job, shape (clients,)."""
        planned_s = cycles / self.fleet.devices.frequency_hz[self.places]
        found = np.empty(len(self))
        for law, have_it in self.fleet.laws:
            if have_it is None:
                return law.training_s(sim, self.numbers, job, planned_s)
            own = np.flatnonzero(have_it[self.places])
            if len(own):
                found[own] = law.training_s(sim, self.numbers.some(own), job, planned_s[own])
        return found

    @property
    def cell_places(self) -> NDArray[np.int64]:
        """Theirs in the fleet, ascending, shape (clients,)."""
        return np.arange(len(self.fleet.names))[self.places]

    @property
    def present(self) -> "Clients":
        """Those of them who are there at this instant."""
        if self.fleet.availabilities is None:
            return self
        own, there = self.cell_places, self.fleet.are_there()
        return self if there[own].all() else Clients(self.fleet, own[there[own]])

    def some(self, chosen: NDArray[np.int64]) -> "Clients":
        """Those at these places among them, each once, in any order."""
        return Clients(self.fleet, np.sort(self.cell_places[chosen]))

    @classmethod
    def of(cls, fleet: Fleet, clients: Sequence[Client]) -> "Clients":
        """Those that somebody has chosen, in the order of their numbers."""
        if isinstance(clients, Clients):
            return clients
        return cls(fleet, np.array([fleet.place_of[client.name] for client in clients], dtype=np.int64))
