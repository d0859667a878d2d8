"""Regenerative intervals: a queue forgets its past whenever a packet finds it empty.

From one such packet to the next is a cycle; cycles are independent and alike. A mean over packets is the
ratio of what a cycle accumulates to how many packets it has, and its interval comes from the cycles alone: no
warm-up to cut, no batch length to choose.

A few long cycles carry most of a queue's waiting, so the plain ratio with a t interval comes out too small
and too narrow ("plain" below). Three corrections: the jackknife removes the bias of the ratio, Hall's
transformation the skewness of the estimate, and t has the degrees of freedom of the estimated variance.

Scope and limitations: regeneration must be true, as with Poisson arrivals and independent services. Near
load 1 cycles grow long: measured up to load 0.875. Dropping the incomplete last cycle favours short cycles;
that bias falls with 1 / packets and is inside the coverage of the rows "packets".

Minimum: 500 cycles, and 10 that differ from the usual one (for a rate near 1: cycles with a failure). From
there on coverage at level 95 % is at least 93 %; below it the interval is flagged too noisy. In a setting
where nearly all runs are flagged the few that pass may cover less (0.875, 500 below); of all runs at most 7 %
miss without a flag.

Usage::

    sums, lengths = cycles(waiting_s == 0.0, np.stack([sojourn_s, sojourn_s <= deadline_s], axis=1))
    mean_s, success_rate = regenerative_each(sums, lengths)

Measured (`python benchmarks/coverage.py`; M/H2/1, sojourn times, level 95 %; in %: coverage of the plain
interval, runs flagged, coverage of all and of unflagged runs; standard error 0.5 at 2000 runs):

                         mean sojourn              90 % in time              99 % in time
    load  cycles          plain  flag   all unfl.  plain  flag   all unfl.  plain  flag   all unfl.   runs
    0.325     50         73.8 100.0  90.8   ---   74.1 100.0  91.6   ---   22.0 100.0  22.0   ---   2000
    0.325    200         83.2 100.0  94.2   ---   87.4 100.0  97.5   ---   53.8 100.0  60.7   ---   2000
    0.325    500         86.6   0.0  94.3  94.3   90.6   0.0  96.2  96.2   68.0 100.0  88.5   ---   2000
    0.325   1000         90.2   0.0  94.9  94.9   92.8   0.0  95.6  95.6   77.9  97.8  95.2   ---   2000
    0.325   5000         93.2   0.0  94.7  94.7   94.5   0.0  95.3  95.3   91.3   0.1  97.1  97.1   2000
    0.325  20000         93.8   0.0  94.1  94.1   94.6   0.0  94.4  94.4   92.7   0.0  94.5  94.5   1350
    0.325  20000 packets  93.8   0.0  95.0  95.0   95.0   0.0  95.2  95.2   91.8   0.0  95.9  95.9   2000
    0.475     50         72.7 100.0  94.9   ---   67.0 100.0  85.4   ---   16.2 100.0  16.2   ---   2000
    0.475    200         83.5 100.0  95.9   ---   83.6 100.0  97.9   ---   42.8 100.0  51.4   ---   2000
    0.475    500         88.5   0.0  96.2  96.2   89.2   0.2  97.5  97.4   63.5 100.0  76.8   ---   2000
    0.475   1000         91.8   0.0  95.7  95.7   93.0   0.0  96.2  96.2   75.2  99.4  92.4   ---   2000
    0.475   5000         93.4   0.0  95.0  95.0   94.3   0.0  95.3  95.3   88.8   0.7  97.0  97.1   2000
    0.475  20000         94.4   0.0  95.2  95.2   94.4   0.0  94.5  94.5   92.4   0.0  95.5  95.5   1049
    0.475  20000 packets  93.5   0.0  94.3  94.3   94.2   0.0  94.3  94.3   90.8   0.0  95.7  95.7   2000
    0.625     50         67.6 100.0  95.2   ---   55.5 100.0  73.0   ---   12.0 100.0  12.3   ---   2000
    0.625    200         80.8 100.0  96.4   ---   78.3 100.0  96.2   ---   37.5 100.0  45.0   ---   2000
    0.625    500         86.4   0.0  96.0  96.0   86.2   4.6  98.0  98.3   55.3 100.0  71.5   ---   2000
    0.625   1000         89.6   0.0  96.0  96.0   89.5   0.0  96.8  96.8   68.5 100.0  87.0   ---   2000
    0.625   5000         92.2   0.0  95.9  95.9   92.8   0.0  95.9  95.9   86.1   8.0  98.1  98.3   2000
    0.625  20000         93.9   0.0  94.9  94.9   93.7   0.0  95.1  95.1   92.1   0.0  96.4  96.4    749
    0.625  20000 packets  93.5   0.0  95.2  95.2   94.0   0.0  95.6  95.6   87.4   0.1  97.9  97.8   2000
    0.775     50         58.6 100.0  94.3   ---   41.6 100.0  57.5   ---    7.0 100.0   8.9   ---   2000
    0.775    200         74.6 100.0  96.9   ---   68.9 100.0  90.4   ---   24.1 100.0  29.5   ---   2000
    0.775    500         83.0   0.0  96.4  96.4   80.9  39.6  97.9  97.8   42.9 100.0  55.0   ---   2000
    0.775   1000         86.7   0.0  96.0  96.0   85.9   0.3  97.2  97.3   56.2 100.0  73.0   ---   2000
    0.775   5000         92.8   0.0  95.8  95.8   93.1   0.0  96.0  96.0   81.8  49.0  97.8  98.9   1800
    0.775  20000         95.1   0.0  95.3  95.3   95.1   0.0  95.6  95.6   89.8   0.0  96.2  96.2    450
    0.775  20000 packets  92.1   0.0  95.9  95.9   92.8   0.0  96.6  96.6   80.2  63.2  97.3  98.5   2000
    0.875     50         42.8 100.0  87.2   ---   21.6 100.0  34.3   ---    3.1 100.0   5.7   ---   2000
    0.875    200         65.6 100.0  96.0   ---   53.8 100.0  72.9   ---   14.2 100.0  16.6   ---   2000
    0.875    500         75.1   0.0  97.7  97.7   70.8  95.6  91.2  89.8   27.5 100.0  34.2   ---   2000
    0.875   1000         82.2   0.0  97.1  97.1   81.3  41.8  96.9  97.3   41.9 100.0  53.0   ---   2000
    0.875   5000         90.9   0.0  96.5  96.5   91.7   0.0  97.1  97.1   71.7  98.3  88.6   ---    998
    0.875  20000         98.0   0.0  97.2  97.2   98.0   0.0  96.8  96.8   88.4   0.0  97.2  97.2    249
    0.875  20000 packets  88.4   0.0  96.5  96.5   88.9   0.0  98.0  98.0   59.0 100.0  76.3   ---   2000

Source: ratio and cycles: Crane and Iglehart, Operations Research 23 (1975); jackknife: Iglehart, Naval
Research Logistics Quarterly 22 (1975); the other corrections: `analysis.intervals.statistics.mean_interval`.
"""

import attrs
import numpy as np
from numpy.typing import ArrayLike

from analysis.intervals.statistics import Interval, mean_interval, sample

MIN_CYCLES = 500
"""Fewest cycles of an interval that is not flagged. [measured, see above]"""
MIN_TELLING_CYCLES = 10
"""Fewest cycles in which a rare event happened, or failed to happen. [measured, see above]"""


def cycles(starts: ArrayLike, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Sums over each complete cycle.

    What came before the first start and after the last one is dropped.

    Args:
        starts: True if a packet found the queue empty, shape (packets,).
        values: Of each packet, shape (packets,) or (packets, quantities).

    Returns:
        Sums, shape (cycles,) or (cycles, quantities), and packets in each cycle, shape (cycles,).
    """
    is_start, per_packet = np.asarray(starts), np.asarray(values, dtype=float)
    if is_start.ndim != 1 or is_start.dtype != bool or per_packet.shape[:1] != is_start.shape:
        raise ValueError(
            f"cycles: starts {is_start.dtype} {is_start.shape}, values {per_packet.shape}; must be "
            "booleans of shape (packets,) and as many values. Use starts = waiting_s == 0.0."
        )
    first = np.flatnonzero(is_start)
    if len(first) < 2:
        return np.empty((0, *per_packet.shape[1:])), np.empty(0, dtype=int)
    return np.add.reduceat(per_packet[: first[-1]], first[:-1], axis=0), np.diff(first)


def regenerative_each(sums: ArrayLike, lengths: ArrayLike, level: float = 0.95) -> list[Interval]:
    """An interval for each of several quantities, sums of shape (cycles, quantities); see `regenerative`."""
    columns = np.asarray(sums, dtype=float)
    if columns.ndim != 2:
        raise ValueError(
            f"regenerative_each: sums of shape {columns.shape}; must be (cycles, quantities). "
            "Use regenerative for one quantity."
        )
    return [regenerative(column, lengths, level) for column in columns.T]


def regenerative(sums: ArrayLike, lengths: ArrayLike, level: float = 0.95) -> Interval:
    """Of the mean over packets, from cycles.

    Args:
        sums: What accumulated in each cycle, shape (cycles,), at least 2.
        lengths: Packets in each cycle, shape (cycles,).
        level: Share of repetitions in which the interval must contain the truth.
    """
    totals, packets = sample(sums, "sums", least=2), sample(lengths, "lengths", least=2)
    if len(totals) != len(packets) or np.any(packets < 1):
        raise ValueError(
            f"regenerative: {len(totals)} sums and {len(packets)} lengths; must be equally many, with at "
            "least one packet in each cycle. Take both from cycles()."
        )
    interval = mean_interval(jackknife(totals, packets), level)
    num_cycles, num_telling = len(totals), num_telling_cycles(totals, packets)
    if num_cycles < MIN_CYCLES:
        remark = f"{num_cycles} cycles, {MIN_CYCLES} needed"
    elif num_telling < MIN_TELLING_CYCLES:
        remark = f"{num_telling} cycles differ from the usual one, {MIN_TELLING_CYCLES} needed"
    else:
        return interval
    return attrs.evolve(interval, too_noisy=True, remark=remark)


def jackknife(totals: np.ndarray, packets: np.ndarray) -> np.ndarray:
    """Pseudo-values n r - (n - 1) r_(i) of the ratio, r_(i) without cycle i, shape (cycles,)."""
    ratio = totals.sum() / packets.sum()
    return ratio + (len(totals) - 1) * (totals - ratio * packets) / (packets.sum() - packets)


def num_telling_cycles(totals: np.ndarray, packets: np.ndarray) -> int:
    """Cycles whose own mean differs from the usual (median) one.

    For a rate near 0 these are the cycles with an event, near 1 the cycles with a failure; else nearly all.
    """
    means = totals / packets
    return int(np.sum(np.abs(means - np.median(means)) > 1e-9 * np.max(np.abs(means))))
