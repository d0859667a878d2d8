"""Intervals of a median by order statistics: no law is assumed, and values may be infinite.

Of n sorted values, the k-th and the k-th from above enclose the median unless fewer than k lie on one of its
sides, which has the probability 2 P(Binomial(n, 1/2) < k); k is the largest for which that is at most the
error. So a run that never got there counts as infinite: it only has to be on the right side.

Scope and limitations: needs 6 values for 95 %; with fewer none is given. The level is at least the one asked
for, 96.9 % with 6 values.

Usage::

    median_interval([2.1, 2.4, 2.2, math.inf, 2.3, 2.6])

Source: David and Nagaraja, "Order Statistics" (2003), section 7.1.

Validation: tests/analysis/intervals/test_medians.py.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from analysis.intervals.statistics import Interval, checked_level


def median_interval(values: ArrayLike, level: float = 0.95) -> Interval | None:
    """Of the median of independent values, which may be infinite; None where they are too few.

    Args:
        values: One of each run, shape (runs,).
        level: Least share of repetitions in which the interval must contain the truth.
    """
    from scipy import stats  # slow to import

    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.ndim != 1 or np.isnan(ordered).any():
        raise ValueError(
            f"median_interval: values of shape {ordered.shape}, some maybe no number; must be one axis, "
            "infinite where a run never got there. Use math.inf in place of NaN."
        )
    num_values = len(ordered)
    rank = int(stats.binom.ppf((1.0 - checked_level(level)) / 2.0, num_values, 0.5)) if num_values else 0
    if rank < 1:
        return None
    upper, lower = ordered[num_values // 2], ordered[(num_values - 1) // 2]
    estimate = upper if math.isinf(upper) or math.isinf(lower) else (lower + upper) / 2.0
    low, high = ordered[rank - 1], ordered[num_values - rank]
    return Interval(estimate=float(estimate), low=float(low), high=float(high), level=level)
