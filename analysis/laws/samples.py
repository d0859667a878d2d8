"""Samples: values that a law's scenario gives, with the interval that suits how they depend on each other.

| kind | values | interval |
|---|---|---|
| `Series` | of a series that remembers its past, in order: rounds, packets, windows of time | batch means |
| `Regenerating` | of packets of a system that forgets its past when it is empty | cycles |
| `Independent` | independent of each other, of any law | t, corrected for skewness |
| `Trials` | independent, true or false | binomial, exact |
| `Exact` | one number in which nothing is random | 1e-9 |

If in doubt use `Series`: it measures how long the series remembers, and is flagged as too noisy where the run
is too short for that.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from analysis.intervals.batch_means import batch_means
from analysis.intervals.regenerative import cycles, regenerative
from analysis.intervals.statistics import Interval, binomial, mean_interval, sample

EXACTLY = 1e-9
"""Largest relative difference of what nothing is random in."""
FEWEST = 200
"""Independent values of an interval that is not flagged. [no source]"""


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    return sample(values, "values", least=1)


def _yes_or_no(values: ArrayLike) -> NDArray[np.bool_]:
    """Values of which each is true or false.

    Raises:
        ValueError: One is something else.
    """
    found = _numbers(values)
    if not np.isin(found, (0.0, 1.0)).all():
        raise ValueError("Trials: a value is neither true nor false. Use Independent or Series for numbers.")
    return found.astype(bool)


@attrs.frozen(kw_only=True, eq=False)
class Sample(ABC):
    """Values of a quantity.

    Attributes:
        method: How its interval is made, as printed.
    """

    method: ClassVar[str]

    @abstractmethod
    def interval(self, level: float) -> Interval:
        """Of their mean."""


@attrs.frozen(kw_only=True, eq=False)
class Regenerating(Sample):
    """Values of packets of a system that forgets its past when one finds it empty.

    Attributes:
        found_empty: Which packets did, shape (packets,).
        values: Shape (packets,).
    """

    method: ClassVar[str] = "cycles"
    found_empty: NDArray[np.bool_]
    values: NDArray[np.float64] = attrs.field(converter=_numbers)

    @override
    def interval(self, level: float) -> Interval:
        """From the cycles between empty instants."""
        if np.count_nonzero(self.found_empty) < 3:
            return _nothing(level, "the system hardly ever ran empty")
        return regenerative(*cycles(self.found_empty, self.values), level=level)


@attrs.frozen(kw_only=True, eq=False)
class Series(Sample):
    """Values of a series that remembers its past, shape (observations,)."""

    method: ClassVar[str] = "batch means"
    values: NDArray[np.float64] = attrs.field(converter=_numbers)

    @override
    def interval(self, level: float) -> Interval:
        """From long batches, without the first twentieth."""
        return batch_means(self.values, level, warm_up=len(self.values) // 20)


@attrs.frozen(kw_only=True, eq=False)
class Independent(Sample):
    """Independent values, shape (values,), of any law."""

    method: ClassVar[str] = "independent"
    values: NDArray[np.float64] = attrs.field(converter=_numbers)

    @override
    def interval(self, level: float) -> Interval:
        """By t, corrected for skewness."""
        interval = mean_interval(self.values, level)
        if len(self.values) >= FEWEST and np.ptp(self.values) > 0.0:
            return interval
        remark = f"{len(self.values)} values, {FEWEST} that differ needed"
        return attrs.evolve(interval, too_noisy=True, remark=remark)


@attrs.frozen(kw_only=True, eq=False)
class Trials(Sample):
    """Independent yeses and noes, shape (trials,)."""

    method: ClassVar[str] = "binomial"
    values: NDArray[np.bool_] = attrs.field(converter=_yes_or_no)

    @override
    def interval(self, level: float) -> Interval:
        """Exact."""
        return binomial(int(np.count_nonzero(self.values)), len(self.values), level)


@attrs.frozen(kw_only=True, eq=False)
class Exact(Sample):
    """A number in which nothing is random.

    Attributes:
        estimate: The number.
    """

    method: ClassVar[str] = "exact"
    estimate: float

    @override
    def interval(self, level: float) -> Interval:
        """The number, but for rounding."""
        reach = EXACTLY * abs(self.estimate)
        return Interval(
            estimate=self.estimate, low=self.estimate - reach, high=self.estimate + reach, level=1.0
        )


def regenerating(found_empty: NDArray[np.bool_], values: Mapping[str, ArrayLike]) -> dict[str, Sample]:
    """A sample of each quantity of the same packets, by name."""
    return {name: Regenerating(found_empty=found_empty, values=each) for name, each in values.items()}


def _nothing(level: float, remark: str) -> Interval:
    return Interval(estimate=np.nan, low=-np.inf, high=np.inf, level=level, too_noisy=True, remark=remark)
