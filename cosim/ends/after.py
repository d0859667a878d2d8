"""Ends: after a number of rounds, versions or updates, at an instant, or with a score."""

from typing import Any

from typing_extensions import override

from cosim.clock.instants import LATEST_S, deadline_after
from cosim.configuration import Ask, at_least, below, knob, lasting, part
from cosim.configuration.going_together import GLOBAL_ROUNDS, LEARNING
from cosim.ends.port import Counted, End, Progress
from cosim.records.measures import Measure
from cosim.tasks.suggested import task_for


@part
class AfterRounds(End):
    """The end after a number of global rounds.

    Attributes:
        num_global_rounds: Global rounds. [no source]
    """

    asks = (Ask(GLOBAL_ROUNDS, "counts them", "AfterVersions, AfterUpdates or AfterSeconds", at="end"),)

    num_global_rounds: int = knob(at_least(1), default=40)

    @property
    @override
    def most_rounds(self) -> int:
        return self.num_global_rounds

    @override
    def counted(self, progress: Progress) -> Counted:
        return Counted(progress.num_global_rounds, self.num_global_rounds, "rounds")


@part
class AfterVersions(End):
    """The end with a version of the global model.

    Attributes:
        num_versions: Versions after the initial one. [no source]
    """

    num_versions: int = knob(at_least(1), default=100)

    @property
    @override
    def most_versions(self) -> int:
        return self.num_versions

    @override
    def counted(self, progress: Progress) -> Counted:
        return Counted(progress.version, self.num_versions, "versions")


@part
class AfterUpdates(End):
    """The end with the first version by which a number of updates have arrived.

    Attributes:
        num_updates: Updates of clients. [no source]
    """

    num_updates: int = knob(at_least(1), default=1000)

    @override
    def counted(self, progress: Progress) -> Counted:
        return Counted(progress.num_updates, self.num_updates, "updates")


@part
class AfterSeconds(End):
    """The end at an instant; the last version before it is the trained model.

    Attributes:
        duration_s: Simulated time. [no source]
    """

    duration_s: float = knob(lasting, below(LATEST_S), default=60.0)

    @property
    @override
    def latest_s(self) -> float:
        return deadline_after(0.0, self.duration_s)

    @override
    def counted(self, progress: Progress) -> Counted:
        return Counted(progress.time_s, self.latest_s, "simulated seconds")


@part
class AfterTarget(End):
    """The end with the evaluation at which the headline score, such as the accuracy, has reached a target.

    Time and energy to the target are what they would be in a longer run. A model that has diverged, with a
    score of nan or infinitely bad, reaches no target.

    Attributes:
        target: Value that the first score which the task reports must reach; for a share, 0.8 is 80 %. [no
            source]
        held: Consecutive evaluations that must reach it. [no source]
        at_the_latest: End of a run that never reaches the target. [no source]
    """

    asks = (Ask(LEARNING, "reads scores", "end = AfterRounds", at="end"),)

    target: float = 0.8
    held: int = knob(at_least(1), default=1)
    at_the_latest: End = AfterRounds()

    @override
    def fit(self, system: Any) -> None:
        """Refuse a target that no score can reach, if that is known without reading data."""
        outline = system.data.outline
        task = system.task if outline is None else task_for(system.task, outline)
        headline = None if task is None else task.headline_of(outline)
        if headline is not None:
            self.check(headline)

    @override
    def check(self, headline: Measure) -> None:
        """Refuse a target that the score can never reach."""
        headline.check_target(self.target, f"{type(self).__name__}.target =")

    @override
    def comes_before(self, target: float, held: int, headline: Measure) -> bool:
        """True if its own target is nearer, or held for fewer evaluations."""
        return held > self.held or not headline.is_as_good(self.target, target)

    @property
    @override
    def latest_s(self) -> float | None:
        return self.at_the_latest.latest_s

    @property
    @override
    def most_rounds(self) -> int | None:
        return self.at_the_latest.most_rounds

    @property
    @override
    def most_versions(self) -> int | None:
        return self.at_the_latest.most_versions

    @override
    def counted(self, progress: Progress) -> Counted:
        return self.at_the_latest.counted(progress)

    @override
    def is_reached(self, progress: Progress) -> bool:
        """True if the last evaluations all reach the target, or the other end is reached."""
        last = progress.evaluations[-self.held :]
        is_held = len(last) == self.held and all(row.reaches(self.target) for row in last)
        return is_held or self.at_the_latest.is_reached(progress)
