"""End: the end of a run.

A protocol continues until its cloud says that the run is over. The rule is asked whenever the global model
has a new version (every global round makes one), and again when that version has been evaluated. It may also
name an instant at which the clock stops in any case. Activities that are cut off then keep their spans and
energy up to the cut, as with a deadline.

| kind | over when |
|---|---|
| AfterRounds, AfterVersions, AfterUpdates | the given number is reached |
| AfterSeconds | its instant has come |
| AfterTarget | the headline score has reached a target, or another end is reached |
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from cosim.configuration import Port, part, said_of
from cosim.records.measures import Measure
from cosim.records.rows import Evaluation


class Progress(NamedTuple):
    """Progress of a run.

    Attributes:
        version: Version of the global model; 0 is the initial one.
        num_global_rounds: Rounds that have ended; a protocol without rounds has none.
        num_updates: Clients' updates that have arrived at their servers.
        time_s: Instant at which this version was made.
        evaluations: Evaluations of the global model, in order, without evaluations of cells.
    """

    version: int = 0
    num_global_rounds: int = 0
    num_updates: int = 0
    time_s: float = 0.0
    evaluations: Sequence[Evaluation] = ()


class Counted(NamedTuple):
    """Progress of a run in the unit that its end counts."""

    done: float
    of: float
    what: str


@part
class End(Port, ABC):
    """Rule that ends a run."""

    claims = said_of(
        most_rounds=("counted", "is_reached"), most_versions=("counted", "is_reached", "most_rounds")
    )

    def check(self, headline: Measure) -> None:
        """Refuse a headline score that does not suit, before the clock starts.

        Raises:
            ConfigurationError: The score does not suit; the message says why and what to use.
        """

    def comes_before(self, target: float, held: int, headline: Measure) -> bool:
        """True if scores may end a run before its headline has held the given target."""
        return False

    @property
    def latest_s(self) -> float | None:
        """Instant at which the clock stops in any case; None means no such instant."""
        return None

    @property
    def most_rounds(self) -> int | None:
        """Number of global rounds, if known beforehand."""
        return None

    @property
    def most_versions(self) -> int | None:
        """Number of versions of the global model, if known beforehand."""
        return self.most_rounds

    @abstractmethod
    def counted(self, progress: Progress) -> Counted:
        """Progress of the run; it is over when all is done."""

    def is_reached(self, progress: Progress) -> bool:
        """True if the run is over."""
        done, of, _ = self.counted(progress)
        return done >= of
