"""Past the end: the port of what becomes of a trace when its last row is over.

Usage::

    @part
    class FromNoon(PastEnd):
        \"\"\"Begins again after half a day.\"\"\"

        repeats = True

        def end_s(self, where, time_s):
            return 43_200.0
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.configuration import ConfigurationError, Port, knob, lasting, part


@part
class PastEnd(Port, ABC):
    """What becomes of a trace when its last row is over.

    Attributes:
        repeats: Whether it begins again then; a class says so. Else the run ends with an error where
            somebody still needs it.
    """

    repeats: ClassVar[bool] = False

    @abstractmethod
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        """When the last row of a trace is over; infinity: never.

        Args:
            where: Which trace it is, for messages.
            time_s: Its stamps, shape (rows,).

        Raises:
            ConfigurationError: There is no such time after the last stamp.
        """


@part
class HoldLast(PastEnd):
    """The last row holds for ever."""

    @override
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        """Never."""
        return math.inf


@part
class RepeatTrace(PastEnd):
    """The trace begins again.

    Attributes:
        period_s: Length of a trace; none: its last row holds as long as the one before. [no source]
    """

    repeats: ClassVar[bool] = True
    period_s: float | None = knob(lasting, default=None)

    @override
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        """The period."""
        if self.period_s is None:
            return _as_the_one_before(where, time_s)
        if self.period_s <= time_s[-1]:
            raise ConfigurationError(
                f"{where}: has its last row at {time_s[-1]:g} s, and RepeatTrace.period_s = "
                f"{self.period_s:g} is over by then. Use a longer period, or none."
            )
        return self.period_s


@part
class RefusePastEnd(PastEnd):
    """The run ends with an error where somebody still sends or receives.

    The last row holds as long as the one before.
    """

    @override
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        """After the last row."""
        return _as_the_one_before(where, time_s)


def _as_the_one_before(where: str, time_s: NDArray[np.float64]) -> float:
    if len(time_s) < 2:
        raise ConfigurationError(
            f"{where}: has one row, so nothing says how long it holds. Use past_end = HoldLast, or "
            "RepeatTrace with a period_s."
        )
    return float(2.0 * time_s[-1] - time_s[-2])


def over(where: str, end_s: float) -> ConfigurationError:
    """The error of a trace that is over while somebody needs it."""
    return ConfigurationError(
        f"{where}: is over at {end_s:g} s of the run, and is needed longer. Use past_end = "
        "RepeatTrace or HoldLast, a longer trace, or a shorter run."
    )
