"""Intervals of shares: of a mean that lies between 0 and 1, and of how often something happened.

`share_interval` is Student's t on the logit of the mean: with m the mean, s / sqrt(n) its standard error and
t the quantile, the ends are the values whose logit is logit(m) -+ t s / (sqrt(n) m (1 - m)) (delta method).
So the estimate is the mean itself, the ends lie between 0 and 1, and single values of 0 or 1 need no rule.

Where all values are 0 (or all 1), nothing is known of their spread: the interval has no width, is flagged,
and its remark says how far the mean may lie off. A share of mean m is above 0 at least with probability m, so
n values are all 0 at most with (1 - m)^n, and a mean above 1 - (error / 2)^(1/n) is ruled out.

Scope and limitations: a law whose values are nearly all close to one end and few far from it is covered too
seldom by few values, though more often than by Student's t. A flagged interval has no guaranteed level.

Usage::

    print(share_interval([0.93, 0.95, 0.94]), wilson(4, 5))

Measured (`python benchmarks/coverage.py`; level 95 %, in %: coverage by Student's t, how often its ends leave
[0, 1], coverage on the logit; 20000 runs, standard error 0.2):

                                          5 values           20 values
    beta, mean 0.9, deviation 0.02    94.6   0.0  95.0   94.8   0.0  94.9
    beta, mean 0.95, deviation 0.04   90.2  33.6  93.8   93.1   0.0  94.2
    beta, mean 0.02, deviation 0.02   88.6  55.4  93.4   91.9   0.0  93.5
    beta, mean 0.01, deviation 0.02   73.3  95.5  85.9   85.6  18.4  90.5
    counts of 100, mean 0.01          95.2  68.6  96.1   93.9   0.0  95.3
    half of the values 0, mean 0.05   87.9  87.7  94.3   92.7   1.8  95.4

Source: Wilson, Journal of the American Statistical Association 22 (1927); the logit of the mean: the delta
method, no source.

Validation: tests/analysis/intervals/test_share_intervals.py.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike

from analysis.intervals.statistics import Interval, checked_level, is_constant, quantile, sample, t_interval


def share_interval(replications: ArrayLike, level: float = 0.95) -> Interval:
    """Of the mean, from independent replications that lie from 0 to 1.

    Args:
        replications: One share of each run, shape (replications,), at least 2.
        level: Share of repetitions in which the interval must contain the truth.
    """
    from scipy.special import expit, logit  # slow to import

    values = sample(replications, "replications", least=2)
    if values.min() < 0.0 or values.max() > 1.0:
        raise ValueError(
            f"share_interval: values from {values.min():g} to {values.max():g}, but shares lie from 0 to 1. "
            "Use t_interval."
        )
    mean, num_values = float(values.mean()), len(values)
    if is_constant(values):
        found = t_interval(values, level)
        if 0.0 < mean < 1.0:
            return found
        off = 1.0 - ((1.0 - checked_level(level)) / 2.0) ** (1.0 / num_values)
        beyond = f"below {1.0 - off:.3g}" if mean else f"above {off:.3g}"
        return attrs.evolve(found, remark=f"{found.remark}; ruled out is a mean {beyond}")
    standard_error = float(values.std(ddof=1)) / math.sqrt(num_values)
    slope = max(mean * (1.0 - mean), math.ulp(0.0))
    reach = quantile(level, num_values - 1) * standard_error / slope
    low, high = float(expit(logit(mean) - reach)), float(expit(logit(mean) + reach))
    return Interval(estimate=mean, low=min(low, mean), high=max(high, mean), level=level)


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Of a probability, from independent trials: the shares that a score test does not refuse (Wilson)."""
    from scipy import stats  # slow to import

    if not (trials >= 1 and 0 <= successes <= trials):
        raise ValueError(
            f"wilson: {successes} successes in {trials} trials; must be at least 1 trial and at most as "
            "many successes. Count over the same runs."
        )
    z, share = float(stats.norm.ppf(0.5 + checked_level(level) / 2.0)), successes / trials
    weight = 1.0 + z**2 / trials
    centre = (share + z**2 / (2.0 * trials)) / weight
    reach = z * math.sqrt(share * (1.0 - share) / trials + z**2 / (4.0 * trials**2)) / weight
    low, high = np.clip((centre - reach, centre + reach), 0.0, 1.0)
    low, high = (low if successes else 0.0), (high if successes < trials else 1.0)
    return Interval(estimate=share, low=float(low), high=float(high), level=level)
