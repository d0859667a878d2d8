"""Means of curves on a common axis, such as accuracy over simulated time, with an interval at each point.

Runs are evaluated at times of their own. Between two evaluations a run stands where its last one left it, so
the mean is taken, at every time at which any run was evaluated, over what each run had reached by then. The
axis begins where the last run was first evaluated, since some run says nothing before, and ends where the
last run ends. A run that ended earlier, at its target for instance, keeps its last value from then on; how
many were still running stands beside each point.

Scope and limitations: each interval holds for its own point, not for the whole curve at once. A curve whose
values are not finite has no interval there. Beyond the end of the first run the mean is of kept models, not
of what further training would have made of them.

Usage::

    curves = [(run.evaluations["time_s"], run.evaluations["accuracy"]) for run in runs]
    mean = mean_curve(curves, is_share=True)
    axes.fill_between(mean["at"], mean["low"], mean["high"], step="post")

Validation: tests/analysis/intervals/test_curves.py.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import t_interval


def mean_curve(
    curves: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    is_share: bool = False,
    level: float = 0.95,
    most_points: int | None = None,
) -> pd.DataFrame:
    """The mean over runs at every time, and its interval; of one run the run itself, without width.

    Args:
        curves: Of each run, where it was evaluated (rising) and its values there, each shape (evaluations,).
        is_share: The values lie from 0 to 1, and so do the intervals.
        level: Share of repetitions in which the interval at a point must contain the truth.
        most_points: Points at most, evenly chosen among all with both ends. None means all.

    Returns:
        A row per point, columns `at`, `mean`, `low`, `high`, `num_running`; no row without runs, or with one
        that was never evaluated.
    """
    read = [(np.asarray(at, dtype=float), np.asarray(values, dtype=float)) for at, values in curves]
    if not read or not all(len(at) for at, _ in read):
        return pd.DataFrame(columns=["at", "mean", "low", "high", "num_running"], dtype=float)
    points = np.unique(np.concatenate([at for at, _ in read]))
    points = points[points >= max(at[0] for at, _ in read)]
    if most_points is not None and len(points) > most_points:
        points = points[np.unique(np.linspace(0, len(points) - 1, most_points).round().astype(int))]
    columns = [values[np.searchsorted(at, points, side="right") - 1] for at, values in read]
    reached = np.reshape(columns, (len(read), len(points)))
    mean = reached.mean(axis=0)
    ends = [_ends(values, is_share, level) for values in reached.T]
    low, high = np.transpose(ends)
    num_running = np.sum([at[-1] >= points for at, _ in read], axis=0)
    return pd.DataFrame({"at": points, "mean": mean, "low": low, "high": high, "num_running": num_running})


def _ends(values: np.ndarray, is_share: bool, level: float) -> tuple[float, float]:
    """Of the interval at one point."""
    if len(values) < 2 or not np.isfinite(values).all():
        return float(values.mean()), float(values.mean())
    interval = share_interval(values, level) if is_share else t_interval(values, level)
    return interval.low, interval.high
