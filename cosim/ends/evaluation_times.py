"""Evaluation times: which versions of the global model are evaluated.

The first and the last version always are, where anything is learned at all.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from typing_extensions import override

from cosim.clock.instants import num_periods
from cosim.configuration import Lack, Port, at_least, knob, lasting, part
from cosim.configuration.going_together import LEARNING
from cosim.ends.port import Progress


@part
class EvaluationTimes(Port, ABC):
    """Which versions of the global model are evaluated.

    Attributes:
        learns: Whether any is; else only times are asked for, and nothing is learned.
    """

    lacks = (Lack(LEARNING, "learns = false", lambda own: not own.learns),)
    learns: ClassVar[bool] = True

    @abstractmethod
    def is_due(self, progress: Progress, last: Progress) -> bool:
        """Whether the version that has just been made is evaluated; `last` is the last that was."""


@part
class EveryVersions(EvaluationTimes):
    """Every so many versions; where there are global rounds, each makes one.

    Attributes:
        num_versions: Versions from one evaluation to the next. [no source]
    """

    num_versions: int = knob(at_least(1), default=1)

    @override
    def is_due(self, progress: Progress, last: Progress) -> bool:
        """Whether its number is a multiple."""
        return progress.version % self.num_versions == 0


@part
class EverySeconds(EvaluationTimes):
    """The first version at or after each multiple of an interval.

    Attributes:
        interval_s: Simulated time. [no source]
    """

    interval_s: float = knob(lasting, default=1.0)

    @override
    def is_due(self, progress: Progress, last: Progress) -> bool:
        """Whether a multiple lies between the last evaluated version and this one, or at this one."""
        return num_periods(progress.time_s, self.interval_s) > num_periods(last.time_s, self.interval_s)


@part
class Never(EvaluationTimes):
    """Timing only: nothing is learned, so the clock needs neither the files of pictures nor weights."""

    learns = False

    @override
    def is_due(self, progress: Progress, last: Progress) -> bool:
        """Never."""
        return False
