"""Means of curves: what each run had reached by then, by a loop that looks it up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.intervals.curves import mean_curve
from analysis.intervals.shares import share_interval

CURVE = st.lists(
    st.tuples(st.integers(0, 30), st.floats(0.0, 1.0)),
    min_size=1,
    max_size=8,
    unique_by=lambda point: point[0],
).map(sorted)


def reached(curve: list[tuple[float, float]], at: float) -> float:
    """The value of the last evaluation until then."""
    value = None
    for when, found in curve:
        if when <= at:
            value = found
    assert value is not None
    return value


@given(st.lists(CURVE, min_size=1, max_size=4))
def test_every_point_is_the_mean_of_what_the_runs_had_reached(curves):
    found = mean_curve([tuple(zip(*curve, strict=True)) for curve in curves], is_share=True)
    first = max(curve[0][0] for curve in curves)
    points = sorted({at for curve in curves for at, _ in curve if first <= at})
    assert list(found["at"]) == points
    for at, mean, low, high, num_running in found.itertuples(index=False):
        assert num_running == sum(at <= curve[-1][0] for curve in curves)
        values = [reached(curve, at) for curve in curves]
        assert mean == pytest.approx(np.mean(values), abs=1e-12)
        assert 0.0 <= low <= mean + 1e-12
        assert mean - 1e-12 <= high <= 1.0
        if len(values) > 1:
            assert (low, high) == (share_interval(values).low, share_interval(values).high)


def test_by_hand():
    """From 1 s, when the second run has begun, to 9 s; the first, which has ended at 4 s, keeps its value."""
    found = mean_curve([((0.0, 2.0, 4.0), (0.0, 4.0, 8.0)), ((1.0, 3.0, 9.0), (1.0, 2.0, 3.0))])
    assert list(found["at"]) == [1.0, 2.0, 3.0, 4.0, 9.0]
    assert list(found["mean"]) == [0.5, 2.5, 3.0, 5.0, 5.5]
    assert list(found["num_running"]) == [2, 2, 2, 2, 1]
    half = stats.t.ppf(0.975, 1) * np.std([8.0, 2.0], ddof=1) / np.sqrt(2.0)
    assert (found["low"][3], found["high"][3]) == pytest.approx((5.0 - half, 5.0 + half), rel=1e-12)


def test_few_points_keep_both_ends():
    at = np.arange(1000.0)
    found = mean_curve([(at, at), (at, at + 1.0)], most_points=11)
    assert len(found) == 11
    assert (found["at"].iloc[0], found["at"].iloc[-1]) == (0.0, 999.0)


def test_runs_that_share_no_time_are_carried_on_and_a_loss_that_is_not_finite_has_no_interval():
    found = mean_curve([((0.0, 1.0), (1.0, 2.0)), ((2.0, 3.0), (1.0, 2.0))])
    assert (list(found["at"]), list(found["mean"])) == ([2.0, 3.0], [1.5, 2.0])
    assert list(found["num_running"]) == [1, 1]
    assert mean_curve([]).empty
    (row,) = mean_curve([((0.0,), (1.0,)), ((0.0,), (np.inf,))]).itertuples(index=False)
    assert (row.mean, row.low, row.high) == (np.inf, np.inf, np.inf)
