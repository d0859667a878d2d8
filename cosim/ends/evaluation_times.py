"""Evaluation times: which versions of the global model are evaluated.

The first and the last version always are, if anything is learned at all.
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
    """Rule for which versions of the global model are evaluated.

    Attributes:
        learns: True if any version is evaluated; else only times are simulated, and nothing is learned.
    """

    lacks = (Lack(LEARNING, "learns = false", lambda own: not own.learns),)
    learns: ClassVar[bool] = True

    @abstractmethod
    def is_due(self, progress: Progress, last: Progress) -> bool:
        """True if the version that was just made is evaluated; `last` is the last one that was."""


@part
class EveryVersions(EvaluationTimes):
    """Every n-th version; a global round makes one version.

    Attributes:
        num_versions: Versions from one evaluation to the next. [no source]
    """

    num_versions: int = knob(at_least(1), default=1)

    @override
    def is_due(self, progress: Progress, last: Progress) -> bool:
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
        """True if a multiple of the interval lies after the last evaluated version and not after this one."""
        return num_periods(progress.time_s, self.interval_s) > num_periods(last.time_s, self.interval_s)


@part
class Never(EvaluationTimes):
    """Timing only: nothing is learned, so neither data files nor weights are needed."""

    learns = False

    @override
    def is_due(self, progress: Progress, last: Progress) -> bool:
        return False
