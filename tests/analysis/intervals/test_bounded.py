"""Intervals within the possible: a cut takes nothing away that could be true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.intervals.bounded import COVERAGE, ENOUGH_RUNS, mean_within, remark_on_few
from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import t_interval

pytestmark = pytest.mark.quick


@settings(max_examples=60)
@given(st.lists(st.floats(0.0, 12.0), min_size=2, max_size=8))
def test_it_is_students_interval_cut_to_the_range(values):
    found, plain = mean_within(values, 0.0, 12.0), t_interval(values)
    assert 0.0 <= found.low <= found.estimate <= found.high <= 12.0
    for truth in (0.0, 0.5, 6.0, 11.9, 12.0):
        assert found.contains(truth) == plain.contains(truth) or found.too_noisy


def test_shares_are_on_the_logit_and_one_value_has_no_width():
    shares = [0.9, 0.99, 1.0]
    assert mean_within(shares, 0.0, 1.0, is_share=True) == share_interval(shares)
    one = mean_within([3.0], 0.0, 12.0)
    assert (one.low, one.high, one.remark) == (3.0, 3.0, "one seed")


def test_coverage_of_skewed_times_is_what_is_said_beside_them():
    """A lognormal law that spreads by its mean, 5 seeds; within the stated range, and short of 95 %."""
    rng, square = np.random.default_rng(1), np.log(2.0)
    drawn = rng.lognormal(-square / 2.0, np.sqrt(square), (4000, 5))
    half = stats.t.ppf(0.975, 4) * drawn.std(axis=1, ddof=1) / np.sqrt(5.0)
    covered = 100.0 * float(np.mean(np.abs(drawn.mean(axis=1) - 1.0) <= half))
    ours = 100.0 * np.mean([mean_within(row, 0.0, np.inf).contains(1.0) for row in drawn])
    assert ours == pytest.approx(covered, abs=1e-9)
    least, most = COVERAGE[5]
    assert least - 2.0 <= covered <= most + 2.0 < 97.0
    assert f"{least} to {most} %" in remark_on_few(5)
    assert remark_on_few(ENOUGH_RUNS) == ""
