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
from typing import Any, ClassVar, NamedTuple

from cosim.configuration import Port, at_least, below, configuration, field, lasting, refuse, stand_for
from cosim.instants import LATEST_S, deadline_after
from cosim.learning.tasks.task import task_for
from cosim.records import Evaluation, Measure


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


@configuration
class End(Port, ABC):
    """When a run is over.

    Attributes:
        counts_rounds: Whether it needs global rounds; a class says so.
        reads_scores: Whether it asks for evaluations; a class says so, and is refused where nobody learns.
    """

    shortcuts = stand_for(
        most_rounds=("counted", "is_reached"), most_versions=("counted", "is_reached", "most_rounds")
    )
    counts_rounds: ClassVar[bool] = False
    reads_scores: ClassVar[bool] = False

    def fit(self, system: Any) -> None:
        """Refuse protocols without rounds where it counts them, and timing only where it reads scores."""
        if self.reads_scores and not system.evaluation.learns:
            kind, off = type(self).__name__, type(system.evaluation).__name__
            rule = f"only times are asked for, and the end {kind} reads scores"
            raise refuse("System", "evaluation", off, rule, "EveryVersions, or end = AfterRounds")
        if self.counts_rounds and not system.protocol.plays_rounds:
            protocol, end = type(system.protocol).__name__, type(self).__name__
            rule = f"{protocol} plays no global rounds"
            raise refuse("System", "end", end, rule, "AfterVersions, AfterUpdates or AfterSeconds")

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

    @property
    def most_versions(self) -> int:
        """So many."""
        return self.num_versions

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

    duration_s: float = field(lasting, below(LATEST_S), default=60.0)

    @property
    def latest_s(self) -> float:
        """That instant."""
        return deadline_after(0.0, self.duration_s)

    def counted(self, progress: Progress) -> Counted:
        """Simulated time that has passed."""
        return Counted(progress.time_s, self.latest_s, "simulated seconds")


@configuration
class AfterTarget(End):
    """The end with the evaluation at which the headline score, such as the accuracy, has reached a target.

    What a run takes to a target is what it would have been in a longer run. A model that has diverged, of
    which a score is nan or infinitely bad, reaches none.

    Attributes:
        target: A value of the first score that the task reports, at least as good as which it must be; of a
            share 0.8 is 80 %. [no source]
        held: Evaluations in a row at which it must be so. [no source]
        at_the_latest: The end of a run that does not get there. [no source]
    """

    reads_scores: ClassVar[bool] = True

    target: float = 0.8
    held: int = field(at_least(1), default=1)
    at_the_latest: End = AfterRounds()

    def fit(self, system: Any) -> None:
        """Refuse a target that no score can have, too, where no data need be read to know."""
        super().fit(system)
        outline = system.data.outline
        task = system.task if outline is None else task_for(system.task, outline)
        headline = None if task is None else task.headline_of(outline)
        if headline is not None:
            self.check(headline)

    def check(self, headline: Measure) -> None:
        """Refuse a target that it can never have."""
        headline.check_target(self.target, f"{type(self).__name__}.target =")

    def comes_before(self, target: float, held: int, headline: Measure) -> bool:
        """Where its own target is nearer, or held for fewer evaluations."""
        return held > self.held or not headline.is_as_good(self.target, target)

    @property
    def latest_s(self) -> float | None:
        """That of the other end."""
        return self.at_the_latest.latest_s

    @property
    def most_rounds(self) -> int | None:
        """Those of the other end."""
        return self.at_the_latest.most_rounds

    @property
    def most_versions(self) -> int | None:
        """Those of the other end."""
        return self.at_the_latest.most_versions

    def counted(self, progress: Progress) -> Counted:
        """How far it is to the other end."""
        return self.at_the_latest.counted(progress)

    def is_reached(self, progress: Progress) -> bool:
        """Whether the last evaluations are all good enough, or the other end is reached."""
        last = progress.evaluations[-self.held :]
        is_there = len(last) == self.held and all(row.reaches(self.target) for row in last)
        return is_there or self.at_the_latest.is_reached(progress)
