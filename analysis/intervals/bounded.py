"""Intervals within the possible: of the mean of something that cannot lie beyond a known range.

Student's t, its ends cut to the range: no energy below 0, no time beyond the instant at which every run
ends. The true mean lies within the range, so whatever a cut takes away never contained it: the coverage stays
what it was, to the last repetition, and no interval becomes longer. Of shares the interval is Student's t on
the logit (`analysis.intervals.shares`), which stays within 0 and 1 by itself.

Scope and limitations: with few runs and skewed values, as times to a target often are, Student's t covers
too seldom, as measured below; `remark_on_few` says so beside a table. Hall's transformation
(`analysis.intervals.statistics.mean_interval`) and Student's t of logarithms, carried over to the mean by the
delta method, are the others that were tried.

Usage::

    mean_within([5.1, 6.4, 12.0], 0.0, 12.0)

Source: Student's t; that a cut to a range that holds the truth keeps the coverage: one line of arithmetic.

Validation: tests/analysis/intervals/test_bounded.py.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike

from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import Interval, t_interval

ENOUGH_RUNS = 10
"""Runs from which on a mean of skewed times needs no remark."""
COVERAGE = {5: (86, 94)}
"""Runs -> least and most measured coverage of 95 % intervals of skewed times, in % (table above)."""


def remark_on_few(num_runs: int) -> str:
    """How often 95 % intervals of skewed times cover the mean of few runs; empty where they are enough."""
    if num_runs not in COVERAGE:
        return ""
    least, most = COVERAGE[num_runs]
    return (
        f"With {num_runs} seeds, 95 % intervals of what a target takes hold its mean in {least} to {most} % "
        f"of cases, as such times are skewed. Use --seeds {ENOUGH_RUNS}, or --precision."
    )


def mean_within(
    values: ArrayLike, low: float, high: float, *, is_share: bool = False, level: float = 0.95
) -> Interval:
    """Of the mean, from independent replications within a range; of one without width, and flagged.

    Args:
        values: One of each run, shape (runs,), at least 1.
        low: The least that a value can be; -inf for no such bound.
        high: The most that a value can be; inf for no such bound.
        is_share: The values lie from 0 to 1.
        level: Share of repetitions in which the interval must contain the truth.
    """
    found = np.asarray(values, dtype=float)
    if len(found) == 1:
        value = float(found[0])
        return Interval(estimate=value, low=value, high=value, level=level, too_noisy=True, remark="one seed")
    return cut(share_interval(found, level) if is_share else t_interval(found, level), low, high)


def cut(interval: Interval, low: float, high: float) -> Interval:
    """The interval within a range that holds the truth; an estimate beyond it by rounding is brought back."""
    ends = (min(max(end, low), high) for end in (interval.low, interval.estimate, interval.high))
    return attrs.evolve(interval, **dict(zip(("low", "estimate", "high"), ends, strict=True)))


def nothing(remark: str, level: float = 0.95) -> Interval:
    """An interval of what has no mean, and why."""
    none = math.nan
    return Interval(estimate=none, low=none, high=none, level=level, too_noisy=True, remark=remark)
