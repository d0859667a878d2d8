"""End: when a run is over.

A protocol goes on until its cloud says that the run is over. A rule is asked whenever the global model has a
new version, which every global round makes; and it may name an instant at which the clock stops, whatever is
under way then. What is cut there has its spans and energy up to the cut, as with a deadline.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from cosim.configuration import Port, at_least, configuration, field, positive, refuse


class Progress(NamedTuple):
    """How far a run has come.

    Attributes:
        version: Of the global model; 0 is the initial one.
        num_global_rounds: Rounds that have ended; a protocol without rounds has none.
        num_updates: Clients' updates that have arrived at their servers.
        time_s: When this version was made.
    """

    version: int = 0
    num_global_rounds: int = 0
    num_updates: int = 0
    time_s: float = 0.0


class Counted(NamedTuple):
    """How far a run has come, in what its end counts."""

    done: float
    of: float
    what: str


@configuration
class End(Port, ABC):
    """When a run is over.

    Attributes:
        counts_rounds: Whether it needs global rounds; a class says so.
    """

    counts_rounds: ClassVar[bool] = False

    def fit(self, system: Any) -> None:
        """Refuse protocols without rounds, where it counts them."""
        if self.counts_rounds and not system.protocol.plays_rounds:
            protocol, end = type(system.protocol).__name__, type(self).__name__
            rule = f"{protocol} plays no global rounds"
            raise refuse("System", "end", end, rule, "AfterVersions, AfterUpdates or AfterSeconds")

    @property
    def latest_s(self) -> float | None:
        """The instant at which the clock stops in any case; None: no such instant."""
        return None

    @property
    def most_rounds(self) -> int | None:
        """Global rounds that are played, where that is known beforehand."""
        return None

    @abstractmethod
    def counted(self, progress: Progress) -> Counted:
        """How far the run has come; it is over when all is done."""

    def is_reached(self, progress: Progress) -> bool:
        """Whether the run is over."""
        done, of, _ = self.counted(progress)
        return done >= of


@configuration
class AfterRounds(End):
    """The end after so many global rounds.

    Attributes:
        num_global_rounds: Global rounds. [no source]
    """

    counts_rounds: ClassVar[bool] = True

    num_global_rounds: int = field(at_least(1), default=40)

    @property
    def most_rounds(self) -> int:
        """So many."""
        return self.num_global_rounds

    def counted(self, progress: Progress) -> Counted:
        """Global rounds that have ended."""
        return Counted(progress.num_global_rounds, self.num_global_rounds, "rounds")


@configuration
class AfterVersions(End):
    """The end with a version of the global model.

    Attributes:
        num_versions: Versions after the initial one. [no source]
    """

    num_versions: int = field(at_least(1), default=100)

    def counted(self, progress: Progress) -> Counted:
        """Versions so far."""
        return Counted(progress.version, self.num_versions, "versions")


@configuration
class AfterUpdates(End):
    """The end with the first version by which so many updates have arrived.

    Attributes:
        num_updates: Updates of clients. [no source]
    """

    num_updates: int = field(at_least(1), default=1000)

    def counted(self, progress: Progress) -> Counted:
        """Updates that have arrived."""
        return Counted(progress.num_updates, self.num_updates, "updates")


@configuration
class AfterSeconds(End):
    """The end at an instant; the last version before it is the trained model.

    Attributes:
        duration_s: Simulated time. [no source]
    """

    duration_s: float = field(positive, default=60.0)

    @property
    def latest_s(self) -> float:
        """That instant."""
        return self.duration_s

    def counted(self, progress: Progress) -> Counted:
        """Simulated time that has passed."""
        return Counted(progress.time_s, self.duration_s, "simulated seconds")
