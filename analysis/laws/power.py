"""Power: how surely a wrong theory is caught by a run of some length.

The estimate is taken as normal about the law's number, with the standard error that the half width of the
interval stands for. Then the interval leaves out a number at a distance of d half widths with probability
P(Z > q (1 - d)) + P(Z > q (1 + d)), with q the normal quantile of the level. The standard error falls with
the root of the run's length.

Scope and limitations: of one run and its half width, so it wavers as that does; a skew sample is taken as
normal. Of several quantities a wrong theory is caught at least as surely as by the best one.

Validation: tests/analysis/test_laws.py, against the share of many runs that catch a theory.
"""

import math

from scipy import stats

from analysis.intervals.statistics import Interval

WANTED = 0.9
"""Power that a validation should have. [no source]"""


def power(interval: Interval, theory: float, wrong: float) -> float:
    """Probability that a run like this one contradicts a wrong theory, if the law holds.

    Args:
        interval: What the clock has.
        theory: The law's number.
        wrong: The wrong theory's number.
    """
    if interval.too_noisy:
        return 0.0
    if interval.level >= 1.0 or not interval.half_width > 0.0:  # nothing is random
        return float(not interval.contains(wrong))
    quantile = _quantile(interval)
    distance = abs(wrong - theory) / interval.half_width
    return float(stats.norm.sf(quantile * (1.0 - distance)) + stats.norm.sf(quantile * (1.0 + distance)))


def longer(interval: Interval, theory: float, wrong: float, wanted: float = WANTED) -> float:
    """How many times as long a run must be for a power.

    Infinite if no length helps: both say the same, or the interval decides nothing.
    """
    distance = abs(wrong - theory)
    if interval.too_noisy or not distance > 0.0 or not math.isfinite(interval.half_width):
        return math.inf
    quantile = _quantile(interval)
    needed = (1.0 + float(stats.norm.ppf(wanted)) / quantile) * interval.half_width
    return (needed / distance) ** 2


def _quantile(interval: Interval) -> float:
    return float(stats.norm.ppf(0.5 + interval.level / 2.0))
