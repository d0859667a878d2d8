"""Client jobs: what a part of a device is told of activities that clients begin, on both clocks."""

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.jobs.job import Job
from cosim.recording.history import History, Past, unread

if TYPE_CHECKING:
    from cosim.devices.device import DeviceArrays
Own = TypeVar("Own", bound="ClientJobs")


class AllClients(Protocol):
    """All clients of a run, by their numbers."""

    @property
    def devices(self) -> "DeviceArrays":
        """Of each."""
        ...

    @property
    def distance_m(self) -> NDArray[np.float64]:
        """How far each is from its edge server."""
        ...

    @property
    def history(self) -> History | None:
        """What has become of the jobs of each; None: no part reads it."""
        ...


class SomeClients(Protocol):
    """Some clients of a run, ascending."""

    @property
    def fleet(self) -> AllClients:
        """All clients."""
        ...

    @property
    def which(self) -> Any:
        """Their numbers, as an index of what has one element for each client of the run."""
        ...

    @property
    def names(self) -> Numbers:
        """Their names, by which they draw."""
        ...

    @property
    def first(self) -> int:
        """The number of the first."""
        ...

    def __len__(self) -> int: ...


@attrs.define(eq=False)
class ClientJobs:
    """Activities that some clients begin in a job; arrays have shape (clients,).

    In a rule that is written for one client (`for_each`) a number stands in place of each array.

    Attributes:
        which: Numbers of the clients among those of the run, ascending; of one client, its number.
        job: Which rounds they are, and the number of the clients' jobs.
        begins_s: When each begins.
    """

    _fleet: AllClients
    which: Any
    job: Job
    begins_s: Any

    @property
    def devices(self) -> "DeviceArrays":
        """The devices: their numbers, as arrays."""
        return self._fleet.devices[self.which]

    @property
    def distance_m(self) -> NDArray[np.float64]:
        """How far each is from its edge server."""
        return self._fleet.distance_m[self.which]

    @property
    def history(self) -> Past:
        """What has become of the jobs of each before, where a class says `reads_history = True`."""
        if self._fleet.history is None:
            raise unread()
        return self._fleet.history.of(self.which)

    def of_one(self: Own, place: int) -> Own:
        """Of one of these clients, with numbers in place of arrays."""
        return self.some(place)

    def some(self: Own, places: Any) -> Own:
        """Of the clients at some places of these."""
        own: dict[str, Any] = {of.alias: getattr(self, of.name) for of in attrs.fields(type(self)) if of.init}
        own = {name: of[places] if isinstance(of, np.ndarray) else of for name, of in own.items()}
        if isinstance(self.which, slice):
            own["which"] = self.which.start + places
        return type(self)(**own)
