"""Intervals for simulation output: replications, counts, families of points; and what a verdict means.

Packets that queue behind each other are alike, so the textbook interval over all packets is far too narrow.
Use independent replications (`t_interval`, `paired_difference`), or one long run in long batches
(`analysis.intervals.batch_means`) or, best for a queue, in cycles between empty instants
(`analysis.intervals.regenerative`).

Scope and limitations: an interval covers the truth in the long run of many repetitions, not surely in one.
`t_interval` takes the replications as normal, so give it means over runs, not single packets. A flagged
interval (`too_noisy`) has no guaranteed level and decides nothing. Except with `binomial`, the ends of an
interval of a rate may leave [0, 1].

Usage::

    level = familywise(num_points=10)
    interval = t_interval(accuracies, level)
    print(interval, interval.verdict(theory=0.9, margin=0.01))

Measured (`python benchmarks/coverage.py`; level 95 %, in %: runs flagged, coverage of all and of
unflagged runs; 2000 runs, standard error 0.5):

                                  flag   all unfl.
    t, 10 exponential means        0.0  94.3  94.3
    t, 10 normal values            0.0  95.8  95.8

Source: Student's t; Clopper and Pearson, Biometrika 26 (1934); Bonferroni; skewness: Hall, Journal of the
Royal Statistical Society B 54 (1992); degrees of freedom: Satterthwaite, Biometrics Bulletin 2 (1946).
"""

import math
from functools import lru_cache

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

ROUNDING = 1e-12
"""By which sums of the same numbers differ, relatively, at most."""

NOT_OBSERVED = "not observed"


@attrs.frozen(kw_only=True)
class Interval:
    """An estimate and the values that the data do not rule out.

    Attributes:
        estimate: Of the quantity.
        low: Lower end.
        high: Upper end.
        level: Share of repetitions in which such an interval must contain the truth.
        too_noisy: True if the data fall short of the documented minimum, so that the level is not guaranteed.
        remark: Why it is too noisy, or what else a reader must know; may be empty.
    """

    estimate: float
    low: float
    high: float
    level: float
    too_noisy: bool = False
    remark: str = ""

    @property
    def half_width(self) -> float:
        """Half of the distance between the ends, which need not lie evenly about the estimate."""
        return (self.high - self.low) / 2.0

    def contains(self, value: float) -> bool:
        """True if the data do not rule this value out."""
        return self.low <= value <= self.high

    def verdict(self, theory: float, margin: float | None = None) -> str:
        """Verdict of the data on a theory: "agrees", "disagrees" or "too noisy".

        A flagged interval is always too noisy, since nothing follows from it. An interval that excludes the
        theory disagrees. An interval that contains it agrees only if its half width is at most the margin;
        then the truth is, at the interval's level, within two margins of the theory.

        Args:
            theory: The predicted value.
            margin: Difference that matters, in the units of the estimate. None means that any unflagged
                interval around the theory agrees, which says no more than "not contradicted".
        """
        if math.isnan(theory) or (margin is not None and not margin > 0.0):
            raise ValueError(
                f"Interval.verdict: theory = {theory}, margin = {margin}: the theory must be a number and "
                "the margin positive. Use margin = 0.01 * theory."
            )
        if self.too_noisy:
            return "too noisy"
        if not self.contains(theory):
            return "disagrees"
        return "agrees" if margin is None or self.half_width <= margin else "too noisy"

    def text(self, digits: int = 4) -> str:
        """For tables: estimate, ends, level and remark."""
        numbers = f"{self.estimate:.{digits}g} [{self.low:.{digits}g}, {self.high:.{digits}g}]"
        remark = f", {'too noisy: ' if self.too_noisy else ''}{self.remark}" if self.remark else ""
        return f"{numbers} ({100 * self.level:.6g} %){remark}"

    @override
    def __str__(self) -> str:
        return self.text()


def t_interval(replications: ArrayLike, level: float = 0.95) -> Interval:
    """Of the mean, from independent replications.

    Args:
        replications: One value of each run (best a mean over it), shape (replications,), at least 2.
        level: Share of repetitions in which the interval must contain the truth.
    """
    values = sample(replications, "replications", least=2)
    mean, std = float(values.mean()), float(values.std(ddof=1))
    half_width = quantile(level, len(values) - 1) * std / math.sqrt(len(values))
    if is_constant(values):
        remark = f"all {len(values)} values are the same"
        return Interval(estimate=mean, low=mean, high=mean, level=level, too_noisy=True, remark=remark)
    return Interval(estimate=mean, low=mean - half_width, high=mean + half_width, level=level)


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Of the mean of b - a, replications of a and b sharing seeds, each of shape (replications,).

    Differences by rounding only are 0 (`difference`).
    """
    first, second = sample(a, "a", least=2), sample(b, "b", least=2)
    if len(first) != len(second):
        raise ValueError(
            f"paired_difference: {len(first)} replications of a and {len(second)} of b cannot be paired. "
            "Run both designs on the same seeds."
        )
    return t_interval(difference(second, first), level)


def difference(values: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    """Values less others, 0 where they differ by rounding only: the sign of rounding is no finding."""
    return np.where(np.isclose(values, others, rtol=ROUNDING, atol=0.0), 0.0, np.subtract(values, others))


def mean_interval(values: np.ndarray, level: float = 0.95) -> Interval:
    """Of the mean of independent values whose law may be skew and heavy-tailed.

    The studentised mean is made symmetric by Hall's cubic transformation g(T) = T + a T^2 / 3 + a^2 T^3 / 27
    + a / 6, where a is the skewness over the root of n; t has the degrees of freedom 2 n / (kurtosis - 1) of
    the estimated variance (Satterthwaite), at most n - 1. For normal values this is nearly `t_interval`.
    """
    num_values, mean = len(values), float(values.mean())
    scaled = (values - mean) / (np.std(values) or 1.0)
    skewness, kurtosis = float(np.mean(scaled**3)), float(np.mean(scaled**4))
    freedom = min(num_values - 1.0, 2.0 * num_values / max(kurtosis - 1.0, 1e-9))
    reach = quantile(level, freedom)
    standard_error = float(np.std(values, ddof=1)) / math.sqrt(num_values)
    a = skewness / math.sqrt(num_values)

    def back(transformed: float) -> float:
        """T of a g(T)."""
        if abs(a) < 1e-9:
            return transformed
        return 3.0 / a * (math.cbrt(1.0 + a * (transformed - a / 6.0)) - 1.0)

    low, high = mean - back(reach) * standard_error, mean - back(-reach) * standard_error
    return Interval(estimate=mean, low=low, high=high, level=level)


def binomial(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Of a probability, from independent trials; exact, so it covers at least so often (Clopper-Pearson)."""
    from scipy import stats  # slow to import

    if not (trials >= 1 and 0 <= successes <= trials):
        raise ValueError(
            f"binomial: {successes} successes in {trials} trials; must be at least 1 trial and at most as "
            "many successes. Count over the same packets."
        )
    tail = (1.0 - checked_level(level)) / 2.0
    low = float(stats.beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    high = float(stats.beta.isf(tail, successes + 1, trials - successes)) if successes < trials else 1.0
    remark = "" if successes else NOT_OBSERVED
    return Interval(estimate=successes / trials, low=low, high=high, level=level, remark=remark)


def familywise(num_points: int, error: float = 0.05) -> float:
    """Level of each of several intervals, so that all hold together but for this error (Bonferroni)."""
    if not (num_points >= 1 and 0.0 < error < 1.0):
        raise ValueError(
            f"familywise: {num_points} points, error {error}; must be 1 point and 0 < error < 1."
        )
    return 1.0 - error / num_points


def sample(values: ArrayLike, name: str, least: int) -> np.ndarray:
    """The values as floats, shape (values,), or a ValueError: one axis, finite, at least `least`."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or len(array) < least or not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name} has shape {array.shape}; must be one axis of at least {least} finite values. "
            "Use a longer run, or leave out what was never measured."
        )
    return array


def is_constant(values: np.ndarray) -> bool:
    """True if the values are the same but for rounding, so that their spread says nothing."""
    return bool(np.ptp(values) <= ROUNDING * np.max(np.abs(values)))


def checked_level(level: float) -> float:
    """The level, or a ValueError where it is no share between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level = {level}; must lie between 0 and 1. Use 0.95 for 95 %.")
    return level


@lru_cache(maxsize=1024)
def quantile(level: float, freedom: float) -> float:
    """How many standard errors a t interval reaches to either side."""
    from scipy import stats  # slow to import

    return float(stats.t.ppf(0.5 + checked_level(level) / 2.0, freedom))
