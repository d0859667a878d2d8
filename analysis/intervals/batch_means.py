"""Batch means: the long-run mean of one series that remembers its past, with the warm-up cut off.

Means over batches that are much longer than the memory are nearly independent, so an interval for their mean
is one for the series. MSER-5 finds the warm-up: it cuts where the mean of the rest has the least standard
error.

Scope and limitations: the series must settle, and must not visit its states so rarely that a run misses some.
MSER-5 likes to cut busy beginnings of a skew series, which costs about 1 % of coverage at the minimum; give
`warm_up` where it is known. The half width of 20 batches wavers by about 16 % from run to run.

Minimum: each of the 20 batches is at least 30 integrated autocorrelation times long (so the run 600), and
MSER-5 cuts at most a tenth of the run. Below it the interval is flagged too noisy. Of all runs at most 7 %
miss without a flag; but where many are flagged, the ones that pass are too quiet and cover less (M/M/1
below: 79 % at 4000 observations, 92 to 93 % at 6000 to 8000). From twice the minimum on it is 93 to 97 %.

Usage::

    interval = batch_means(waiting_s)

Measured (`python benchmarks/coverage.py`; level 95 %, in %: runs flagged, coverage of all and of
unflagged runs; 2000 runs, standard error 0.5):

                                  flag   all unfl.
    AR(1),  1000 observations    100.0  91.7   ---
    AR(1),  4000 observations    100.0  95.0   ---
    AR(1), 16000 observations      0.7  95.0  94.9
    AR(1), 32000 observations      0.0  95.9  95.9
    M/M/1,  1000 observations    100.0  92.3   ---
    M/M/1,  4000 observations     80.8  93.0  78.7
    M/M/1, 16000 observations      1.7  93.3  93.3
    M/M/1, 32000 observations      0.2  94.0  94.0

Source: MSER-5: White, Cobb and Spratt, Winter Simulation Conference 2000; window of the autocorrelation time:
Sokal, "Monte Carlo methods in statistical mechanics" (1997).
"""

import attrs
import numpy as np
from numpy.typing import ArrayLike

from analysis.intervals.statistics import Interval, mean_interval, sample

NUM_BATCHES = 20
"""[no source]"""
LEAST_AUTOCORRELATION_TIMES = 30.0
"""Length of the shortest batch that is not flagged. [measured, see above]"""
LARGEST_WARM_UP = 0.1
"""Largest part of the run that MSER-5 may cut without a flag. [measured, see above]"""


def batch_means(
    series: ArrayLike, level: float = 0.95, num_batches: int = NUM_BATCHES, warm_up: int | None = None
) -> Interval:
    """Of the long-run mean of a series.

    Args:
        series: Observations in their order, shape (observations,), at least 4 for each batch.
        level: Share of repetitions in which the interval must contain the truth.
        num_batches: Batches of equal length; observations that are left over go with the warm-up.
        warm_up: Observations to cut off; None lets MSER-5 choose.

    Raises:
        ValueError: Too few observations, fewer than 2 batches, or a level that is no share.
    """
    values = sample(series, "series", least=max(4 * num_batches, 50))
    most = int(LARGEST_WARM_UP * len(values))
    wanted = mser5(values) if warm_up is None else warm_up
    cut = min(wanted, most) if warm_up is None else wanted
    length = (len(values) - cut) // num_batches if num_batches else 0
    if num_batches < 2 or cut < 0 or length < 2:
        raise ValueError(
            f"batch_means: {len(values)} observations less a warm-up of {cut} in {num_batches} batches; "
            "must be at least 2 batches of 2, and a warm-up of 0 or more. Use a longer run."
        )
    rest = values[len(values) - num_batches * length :]
    interval = mean_interval(rest.reshape(num_batches, length).mean(axis=1), level)
    least = LEAST_AUTOCORRELATION_TIMES * autocorrelation_time(rest)
    if np.ptp(rest) <= 1e-12 * np.max(np.abs(rest)):
        remark = f"all {len(rest)} observations are the same"
    elif cut < wanted:
        remark = f"the warm-up is longer than {most} of {len(values)} observations"
    elif length < least:
        remark = f"batches of {length} observations, {np.ceil(least):.0f} needed"
    else:
        return interval
    return attrs.evolve(interval, too_noisy=True, remark=remark)


def mser5(series: ArrayLike) -> int:
    """Observations to cut off, so that the mean of the rest, in fives, has the least standard error.

    At least five fives stay, since the error of fewer is an accident.
    """
    values = sample(series, "series", least=30)
    fives = values[: len(values) // 5 * 5].reshape(-1, 5).mean(axis=1)
    fives = fives - fives.mean()
    left = np.arange(len(fives), 0, -1)
    total, squares = (np.cumsum(part[::-1])[::-1] for part in (fives, fives**2))
    squared_error = (squares - total**2 / left) / left**2
    return 5 * int(np.argmin(squared_error[:-5]))


def autocorrelation_time(series: ArrayLike) -> float:
    """How many observations are worth one independent one: 1 + 2 sum of the autocorrelations, at least 1.

    The sum ends at the first lag of at least five times its value so far, lest the noise of far lags adds up.
    """
    values = sample(series, "series", least=2)
    values = values - values.mean()
    spectrum = np.fft.rfft(values, 2 * len(values))
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[: len(values)]
    if covariance[0] <= 0.0:
        return 1.0
    times = 2.0 * np.cumsum(covariance / covariance[0]) - 1.0
    ends = np.flatnonzero(np.arange(len(times)) >= 5.0 * times)
    return max(1.0, float(times[ends[0] if len(ends) else -1]))
