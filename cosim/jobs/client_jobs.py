"""Client jobs: what a part of a device sees of activities that clients begin, on both clocks."""

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.jobs.job import Job
from cosim.recording.history import History, Past, past_of

if TYPE_CHECKING:
    from cosim.devices.device import DeviceArrays
Own = TypeVar("Own", bound="ClientJobs")


class AllClients(Protocol):
    """All clients of a run, by their numbers."""

    @property
    def devices(self) -> "DeviceArrays":
        """Devices of all clients, as arrays."""
        ...

    @property
    def distance_m(self) -> NDArray[np.float64]:
        """Distance of each client from its edge server, shape (clients,)."""
        ...

    @property
    def history(self) -> History | None:
        """Outcomes of the jobs of each client; None means that no part reads them."""
        ...


class SomeClients(Protocol):
    """Some clients of a run, ascending."""

    @property
    def fleet(self) -> AllClients:
        """All clients."""
        ...

    @property
    def which(self) -> Any:
        """Their numbers, as an index of arrays with one element for each client of the run."""
        ...

    @property
    def names(self) -> Numbers:
        """Their names, which also name their draws."""
        ...

    def __len__(self) -> int: ...


@attrs.define(eq=False)
class ClientJobs:
    """Activities that some clients begin in a job; arrays have shape (clients,).

    In a rule that is written for one client (`for_each`) a number stands in place of each array.

    Attributes:
        which: Numbers of the clients in the run, ascending; for one client, its number.
        job: Rounds that they belong to, and the number of the clients' jobs.
        begins_s: Instant at which each begins.
    """

    _fleet: AllClients
    which: Any
    job: Job
    begins_s: Any

    @property
    def devices(self) -> "DeviceArrays":
        """Devices of these clients, as arrays."""
        return self._fleet.devices[self.which]

    @property
    def distance_m(self) -> NDArray[np.float64]:
        """Distance of each client from its edge server, shape (clients,)."""
        return self._fleet.distance_m[self.which]

    @property
    def history(self) -> Past:
        """Outcomes of each client's earlier jobs, if a class says `reads_history = True`."""
        return past_of(self._fleet.history, self.which)

    def of_one(self: Own, place: int) -> Own:
        """The same for one of these clients, with numbers in place of arrays."""
        return self.some(place)

    def some(self: Own, places: Any) -> Own:
        """The same for the clients at some places of these."""
        own: dict[str, Any] = {of.alias: getattr(self, of.name) for of in attrs.fields(type(self)) if of.init}
        own = {name: of[places] if isinstance(of, np.ndarray) else of for name, of in own.items()}
        if isinstance(self.which, slice):
            own["which"] = self.which.start + places
        return type(self)(**own)
