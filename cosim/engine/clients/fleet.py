"""Fleet: all clients of a run, as arrays by their numbers, and one by one when asked for.

`Clients` is the one view of it: some clients, by their numbers in the run. What has one element for each
client of a run is indexed by `Clients.which`; what has one for each client of a cell, as its links have, by
`Clients.places_in`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.devices.device import DeviceArrays
from cosim.devices.processor import Trainings
from cosim.engine.clients.availability import Availabilities
from cosim.engine.clients.client import Client
from cosim.engine.clients.efforts import planned_of
from cosim.jobs import cell
from cosim.jobs.job import Job, Places
from cosim.names import ClientNames
from cosim.recording.history import History
from cosim.values.pending import PendingState


@attrs.define(eq=False)
class Fleet:
    """All clients of a run.

    Attributes:
        devices: Device of each client, in the order of their numbers.
        distance_m: How far each is from its edge server, shape (clients,).
        samples_of: Gives the samples of a client at this instant, by its number.
        availabilities: Tell if each is present.
        history: Outcomes of the jobs of each. None means that no part reads them.
        names: Of all, by which they draw, too.
        states: What each node of the run keeps from one training to its next, by name.
    """

    devices: DeviceArrays
    distance_m: NDArray[np.float64]
    samples_of: Callable[[int], NDArray[np.int64]]
    availabilities: Availabilities = None
    history: History | None = None
    names: Numbers = attrs.field(init=False)
    states: dict[str, PendingState] = attrs.field(factory=dict, init=False)
    _made: dict[int, Client] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.names = Numbers.of(ClientNames(0, len(self.devices)))

    def client(self, number: int) -> Client:
        """The client of a number."""
        found = self._made.get(number)
        if found is None:
            found = self._made[number] = Client(number, Clients(self, slice(number, number + 1)))
        return found


class Clients(cell.Clients):
    """Some clients of a run (`cosim.jobs.cell`).

    Args:
        which: Their numbers, ascending, or as a slice with both ends.
    """

    __slots__ = ("_names", "_numbers", "_order", "fleet", "which")

    def __init__(self, fleet: Fleet, which: NDArray[np.int64] | slice) -> None:
        self.fleet, self.which = fleet, which
        self._order = range(which.start, which.stop) if isinstance(which, slice) else which
        self._names: Numbers | None = None
        self._numbers: NDArray[np.int64] | None = None if isinstance(which, slice) else which

    @override
    def __len__(self) -> int:
        return len(self._order)

    @override
    def __iter__(self) -> Iterator[Client]:
        return map(self.fleet.client, map(int, self._order))

    @overload
    def __getitem__(self, place: int) -> Client: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Client, ...]: ...
    @override
    def __getitem__(self, place: int | slice) -> Client | tuple[Client, ...]:
        if isinstance(place, slice):
            return tuple(self.fleet.client(int(one)) for one in self._order[place])
        return self.fleet.client(int(self._order[place]))

    @property
    @override
    def names(self) -> Numbers:
        if self._names is None:
            which = self.which
            if isinstance(which, slice):
                self._names = Numbers.of(ClientNames(which.start, len(self)))
            else:
                self._names = self.fleet.names.some(which)
        return self._names

    @property
    @override
    def numbers(self) -> NDArray[np.int64]:
        if self._numbers is None:
            self._numbers = np.array(self._order, dtype=np.int64)
        return self._numbers

    @override
    def places_in(self, others: cell.Clients) -> Places:
        assert isinstance(others, Clients)
        if self.which is others.which:
            return slice(None)
        if isinstance(others.which, slice):
            return self.numbers - others.which.start
        return np.searchsorted(others.which, self.numbers)

    @override
    def planned_s(self, sim: Simulation, job: Job, cycles: NDArray[np.float64]) -> NDArray[np.float64]:
        begins_s = np.full(len(self), sim.now_s)
        return planned_of(sim, Trainings(self.fleet, self.which, job, begins_s, cycles), self)

    def are_among(self, others: "Clients") -> bool:
        """True if all of them are among others."""
        if self is others or self.fleet is not others.fleet or not len(self):
            return self.fleet is others.fleet
        if isinstance(others.which, slice):
            return others.which.start <= self._order[0] and self._order[-1] < others.which.stop
        return bool(np.isin(self.numbers, others.which).all())

    @property
    @override
    def are_there(self) -> NDArray[np.bool_]:
        if (there := self.fleet.availabilities) is None:
            return np.ones(len(self), dtype=bool)
        own = [there[number] for number in map(int, self._order)]
        return np.array([each is None or each.is_present for each in own], dtype=bool)

    @property
    @override
    def present(self) -> "Clients":
        if self.fleet.availabilities is None:
            return self
        there = self.are_there
        return self if there.all() else Clients(self.fleet, self.numbers[there])

    @override
    def some(self, chosen: NDArray[np.int64]) -> "Clients":
        numbers = self.numbers[chosen]
        numbers.sort()
        return Clients(self.fleet, numbers)

    @override
    def these(self, clients: Sequence[cell.Client]) -> "Clients":
        if isinstance(clients, Clients):
            return clients
        return Clients(self.fleet, np.array([client.number for client in clients], dtype=np.int64))
