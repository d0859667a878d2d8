"""Ranks of designs that share seeds, with intervals that hold for all pairs at once.

What a run took, such as seconds to a target, is compared on a logarithmic scale, as ratios on the same seeds.
The pairs that differ give each design the ranks that the data do not rule out: from 1 + the number of surely
better designs, to the number of all but the surely worse ones. These hold together at the same level.

- From 6 seeds on a pair is told apart by Student's t of its own differences, at a level shared among all
  pairs (Bonferroni). Its errors are normal; designs may spread as they like.
- With fewer seeds, from which no pair knows its own spread, all designs are taken to have one, and Tukey's
  studentised range serves. Where 3 spread twice as much as the others, 12 designs of which none is better
  are told apart in 12 % of studies on 5 seeds, in place of 5 % (`python benchmarks/coverage.py`):
  `assumes_one_spread` says that it was so.

Scope and limitations: every design has every seed, so a run that never got there has no place here.

Usage::

    found = ranks(seconds)  # shape (designs, seeds)
    found.of(0), found.ratio(0, 1)  # Ranks(best=1, worst=3), Interval of design 0's seconds over design 1's

Source: Tukey's method in a randomised block design, and Bonferroni's: Miller, "Simultaneous Statistical
Inference" (1981), chapter 2; ranks from pairs: Klein, Wright and Wieczorek, Journal of the Royal Statistical
Society A 183 (2020).

Validation: tests/analysis/intervals/test_ranks.py.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from analysis.intervals.statistics import Interval, checked_level, familywise, quantile

ENOUGH_SEEDS = 6
"""Seeds from which on a pair of designs knows its own spread. [no source: t of 66 pairs reaches 6 standard
errors with 6 seeds, 9 with 5]"""


class Ranks(NamedTuple):
    """The ranks that a design may have; 1 took least."""

    best: int
    worst: int

    @override
    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best} to {self.worst}"


@attrs.frozen(kw_only=True, eq=False)
class Ranking:
    """Designs by what they took.

    Attributes:
        log_means: Mean over the seeds of the logarithm of what each design took, shape (designs,).
        reach: By how much two log means must differ to be told apart, shape (designs, designs).
        level: Share of repetitions in which all that is said of pairs and ranks must hold.
        assumes_one_spread: True if all designs were taken to have one spread, for want of seeds.
    """

    log_means: NDArray[np.float64]
    reach: NDArray[np.float64]
    level: float
    assumes_one_spread: bool

    def of(self, design: int) -> Ranks:
        """The ranks that a design may have."""
        apart, reach = self.log_means - self.log_means[design], self.reach[design]
        return Ranks(1 + int(np.sum(apart < -reach)), len(apart) - int(np.sum(apart > reach)))

    def ratio(self, design: int, other: int) -> Interval:
        """Cost of a design over the cost of another: the ratio of their geometric means."""
        apart = float(self.log_means[design] - self.log_means[other])
        low, high = apart - self.reach[design, other], apart + self.reach[design, other]
        return Interval(estimate=math.exp(apart), low=math.exp(low), high=math.exp(high), level=self.level)

    def are_apart(self, design: int, other: int) -> bool:
        """True if two designs can be told apart."""
        return bool(abs(self.log_means[design] - self.log_means[other]) > self.reach[design, other])

    @property
    def order(self) -> list[int]:
        """The designs by their means, the least first."""
        return np.argsort(self.log_means, kind="stable").tolist()


def ranks(taken: ArrayLike, level: float = 0.95) -> Ranking:
    """Of designs by what their runs took.

    Args:
        taken: Positive, shape (designs, seeds), at least 2 of each.
        level: Share of repetitions in which all that is said of pairs and ranks must hold.

    Raises:
        ValueError: Other shapes, or values that have no logarithm.
    """
    values = np.asarray(taken, dtype=float)
    if values.ndim != 2 or min(values.shape) < 2 or not (np.isfinite(values).all() and (values > 0.0).all()):
        raise ValueError(
            f"ranks: values of shape {values.shape}; must be at least 2 designs and 2 seeds, and positive "
            "numbers. Leave out designs in which a run missed the target."
        )
    logs = np.log(values)
    pooled = logs.shape[1] < ENOUGH_SEEDS
    reach = _tukey(logs, checked_level(level)) if pooled else _bonferroni(logs, checked_level(level))
    return Ranking(log_means=logs.mean(axis=1), reach=reach, level=level, assumes_one_spread=pooled)


def _bonferroni(logs: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Reach of a t interval for the differences of each pair."""
    num_designs, num_seeds = logs.shape
    spread = (logs[:, None] - logs[None]).std(axis=2, ddof=1)
    num_pairs = num_designs * (num_designs - 1) // 2
    return quantile(familywise(num_pairs, 1.0 - level), num_seeds - 1) * spread / math.sqrt(num_seeds)


def _tukey(logs: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Reach of the studentised range; what is left after designs and seeds is error."""
    num_designs, num_seeds = logs.shape
    errors = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0) + logs.mean()
    freedom = (num_designs - 1) * (num_seeds - 1)
    spread = math.sqrt(float(np.square(errors).sum()) / freedom)
    reach = _studentised_range(level, num_designs, freedom) * spread / math.sqrt(num_seeds)
    return np.full((num_designs, num_designs), reach)


@lru_cache(maxsize=64)
def _studentised_range(level: float, num_designs: int, freedom: int) -> float:
    from scipy import stats  # slow to import

    return float(stats.studentized_range.ppf(level, num_designs, freedom))
