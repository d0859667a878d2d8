"""Past the end: the port of the rule for a trace after its last row.

Usage::

    @part
    class FromNoon(PastEnd):
        \"\"\"A new beginning after half a day.\"\"\"

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
    """Rule for a trace after its last row.

    Attributes:
        repeats: True if the trace begins again then; set in the class. Otherwise the run ends with an error
            if a client still needs it.
    """

    repeats: ClassVar[bool] = False

    @abstractmethod
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        """End of the last row of a trace; infinite if never.

        Args:
            where: Name of the trace, for messages.
            time_s: Its stamps, shape (rows,).

        Raises:
            ConfigurationError: There is no such time after the last stamp.
        """


@part
class HoldLast(PastEnd):
    """Last row that holds for ever."""

    @override
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        return math.inf


@part
class RepeatTrace(PastEnd):
    """Trace that begins again.

    Attributes:
        period_s: Length of a trace; None means that its last row is as long as the one before. [no source]
    """

    repeats: ClassVar[bool] = True
    period_s: float | None = knob(lasting, default=None)

    @override
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        if self.period_s is None:
            return _as_the_one_before(where, time_s)
        if self.period_s <= time_s[-1]:
            raise ConfigurationError(
                f"{where}: has its last row at {time_s[-1]:g} s, after the end of RepeatTrace.period_s "
                f"= {self.period_s:g}. Use a longer period, or None."
            )
        return self.period_s


@part
class RefusePastEnd(PastEnd):
    """End of the run with an error if a client still sends or receives after the last row.

    The last row is as long as the one before.
    """

    @override
    def end_s(self, where: str, time_s: NDArray[np.float64]) -> float:
        return _as_the_one_before(where, time_s)


def _as_the_one_before(where: str, time_s: NDArray[np.float64]) -> float:
    if len(time_s) < 2:
        raise ConfigurationError(
            f"{where}: has one row, so its period is unknown. Use past_end = HoldLast, or RepeatTrace "
            "with a period_s."
        )
    return float(2.0 * time_s[-1] - time_s[-2])


def over(where: str, end_s: float) -> ConfigurationError:
    """Error for a trace that is over while a client needs it."""
    return ConfigurationError(
        f"{where}: ends at {end_s:g} s of the run, but the run goes on. Use past_end = RepeatTrace or "
        "HoldLast, a longer trace, or a shorter run."
    )
