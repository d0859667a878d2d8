"""End: when a run is over.

A protocol goes on until its cloud says that the run is over. A rule is asked whenever the global model has a
new version, which every global round makes, and again when that has been evaluated; and it may name an
instant at which the clock stops, whatever is under way then. What is cut there has its spans and energy up to
the cut, as with a deadline.

| kind | over when |
|---|---|
| AfterRounds, AfterVersions, AfterUpdates | so many have been counted |
| AfterSeconds | its instant has come |
| AfterTarget | the headline score has been as good as a target, or another end is reached |
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from cosim.configuration import Port, part, said_of
from cosim.records.rows import Evaluation, Measure


class Progress(NamedTuple):
    """How far a run has come.

    Attributes:
        version: Of the global model; 0 is the initial one.
        num_global_rounds: Rounds that have ended; a protocol without rounds has none.
        num_updates: Clients' updates that have arrived at their servers.
        time_s: When this version was made.
        evaluations: Of the global model, in turn; a cell has none of its own.
    """

    version: int = 0
    num_global_rounds: int = 0
    num_updates: int = 0
    time_s: float = 0.0
    evaluations: Sequence[Evaluation] = ()


class Counted(NamedTuple):
    """How far a run has come, in what its end counts."""

    done: float
    of: float
    what: str


@part
class End(Port, ABC):
    """When a run is over."""

    claims = said_of(
        most_rounds=("counted", "is_reached"), most_versions=("counted", "is_reached", "most_rounds")
    )

    def check(self, headline: Measure) -> None:
        """Refuse the score that a run has at its head, before the clock starts.

        Raises:
            ConfigurationError: What does not suit, and the usual fix.
        """

    def comes_before(self, target: float, held: int, headline: Measure) -> bool:
        """Whether scores may end a run before its headline has held a target that somebody asks for."""
        return False

    @property
    def latest_s(self) -> float | None:
        """The instant at which the clock stops in any case; None: no such instant."""
        return None

    @property
    def most_rounds(self) -> int | None:
        """Global rounds that are played, where that is known beforehand."""
        return None

    @property
    def most_versions(self) -> int | None:
        """Versions of the global model that are made, where that is known beforehand."""
        return self.most_rounds

    @abstractmethod
    def counted(self, progress: Progress) -> Counted:
        """How far the run has come; it is over when all is done."""

    def is_reached(self, progress: Progress) -> bool:
        """Whether the run is over."""
        done, of, _ = self.counted(progress)
        return done >= of
