"""Intervals within the possible: of the mean of something that cannot lie beyond a known range.

Student's t, its ends cut to the range: no energy below 0, no time beyond the instant at which every run
ends. The true mean lies within the range, so whatever a cut takes away never contained it: the coverage stays
what it was, to the last repetition, and no interval becomes longer. Of shares the interval is Student's t on
the logit (`analysis.intervals.shares`), which stays within 0 and 1 by itself.

Scope and limitations: with few runs and skewed values, as times to a target often are, Student's t covers
too seldom, as measured below; `remark_on_few` says so beside a table. Hall's transformation
(`analysis.intervals.statistics.mean_interval`) covers more of them and is up to half again as wide. Where one
run in ten is much later, few runs often show none of that, and no interval can know of it.

Usage::

    mean_within([5.1, 6.4, 12.0], 0.0, 12.0)

Measured (`python benchmarks/coverage.py --times --replications 1000`; level 95 %, in %: coverage by the
number of seeds, in brackets the median half width relative to the mean; 10000 runs, standard error 0.2):

                                seeds  Student's t, cut  Hall             t of logarithms
    lognormal, deviation 30 %       5    94.2 ( 0.32)     94.5 ( 0.39)     94.9 ( 0.33)
    lognormal, deviation 30 %      10    93.5 ( 0.20)     94.2 ( 0.21)     94.1 ( 0.20)
    lognormal, deviation 30 %      20    94.4 ( 0.13)     94.8 ( 0.14)     94.8 ( 0.14)
    lognormal, deviation 60 %       5    90.9 ( 0.57)     92.6 ( 0.72)     93.0 ( 0.61)
    lognormal, deviation 60 %      10    91.2 ( 0.36)     93.5 ( 0.42)     92.7 ( 0.37)
    lognormal, deviation 60 %      20    92.3 ( 0.25)     94.3 ( 0.28)     93.1 ( 0.26)
    lognormal, deviation 100 %      5    85.8 ( 0.75)     90.0 ( 1.05)     90.9 ( 0.86)
    lognormal, deviation 100 %     10    87.6 ( 0.52)     92.0 ( 0.70)     90.7 ( 0.55)
    lognormal, deviation 100 %     20    89.1 ( 0.38)     93.4 ( 0.49)     91.3 ( 0.39)
    1 and an exponential time       5    88.2 ( 0.47)     92.0 ( 0.63)     90.1 ( 0.49)
    1 and an exponential time      10    89.5 ( 0.31)     93.6 ( 0.38)     90.8 ( 0.31)
    1 and an exponential time      20    91.6 ( 0.22)     94.7 ( 0.25)     92.2 ( 0.22)
    exponential                     5    87.5 ( 0.89)     91.3 ( 1.26)     92.9 ( 1.13)
    exponential                    10    90.2 ( 0.62)     94.1 ( 0.79)     93.4 ( 0.67)
    exponential                    20    91.9 ( 0.43)     94.8 ( 0.50)     93.6 ( 0.44)
    1 or 2, in 10 % late by 5       5    88.5 ( 0.34)     98.0 ( 0.53)     87.8 ( 0.35)
    1 or 2, in 10 % late by 5      10    71.1 ( 0.55)     68.4 ( 1.24)     77.7 ( 0.59)
    1 or 2, in 10 % late by 5      20    87.5 ( 0.37)     87.0 ( 0.69)     86.9 ( 0.38)

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
COVERAGE = {
    2: (91, 95),
    3: (87, 94),
    4: (86, 94),
    5: (86, 94),
    6: (86, 94),
    7: (87, 94),
    8: (87, 94),
    9: (87, 94),
    10: (88, 93),
}
"""Runs -> least and most measured coverage of 95 % intervals of skewed times, in % (table above)."""


def coverage_in_words(num_runs: int) -> str:
    """How often 95 % intervals of skewed times cover the mean of few runs; empty where they are enough."""
    if num_runs not in COVERAGE or num_runs >= ENOUGH_RUNS:
        return ""
    least, most = COVERAGE[num_runs]
    return (
        f"With {num_runs} seeds, 95 % intervals of what a target takes hold its mean in {least} to {most} % "
        "of cases, as such times are skewed."
    )


def remark_on_few(num_runs: int) -> str:
    """The coverage with few runs, and what to do; empty where they are enough."""
    if not (said := coverage_in_words(num_runs)):
        return ""
    least, most = COVERAGE[ENOUGH_RUNS]
    more = f"with {ENOUGH_RUNS} seeds {least} to {most} %, and shorter"
    return f"{said.removesuffix('.')}; {more}. Use --seeds {ENOUGH_RUNS}, or --precision."


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
