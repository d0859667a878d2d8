"""Intervals of shares against scipy, within 0 and 1 always, and their coverage beside Student's t."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.intervals.shares import share_interval, wilson
from analysis.intervals.statistics import binomial, t_interval

SHARES = st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0]), min_size=2, max_size=12)


@pytest.mark.parametrize("trials", [1, 2, 5, 10, 40])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_wilson_is_that_of_scipy(trials, level):
    for successes in range(trials + 1):
        found = wilson(successes, trials, level)
        wanted = stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
        assert found.estimate == successes / trials


def test_four_of_five():
    """Ends at which (4/5 - p)^2 = z^2 p (1 - p) / 5, by the roots of that polynomial."""
    z = stats.norm.ppf(0.975)
    low, high = sorted(np.roots([1.0 + z**2 / 5, -(1.6 + z**2 / 5), 0.64]))
    found = wilson(4, 5)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    assert (wilson(0, 5).low, wilson(5, 5).high) == (0.0, 1.0)
    with pytest.raises(ValueError, match="6 successes in 5 trials"):
        wilson(6, 5)


def test_on_the_logit_by_hand():
    values = [0.9, 0.95, 0.99, 1.0]
    mean, error = np.mean(values), np.std(values, ddof=1) / 2.0
    reach = stats.t.ppf(0.975, 3) * error / (mean * (1.0 - mean))
    found = share_interval(values)
    assert found.estimate == mean
    for end, sign in ((found.low, -1.0), (found.high, 1.0)):
        assert math.log(end / (1.0 - end)) == pytest.approx(math.log(mean / (1.0 - mean)) + sign * reach)
    assert t_interval(values).high > 1.0


@given(SHARES)
def test_it_stays_within_0_and_1_and_turns_with_the_share(values):
    found, turned = share_interval(values), share_interval([1.0 - value for value in values])
    assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
    if not (found.too_noisy or turned.too_noisy):
        assert (turned.low, turned.high) == pytest.approx((1.0 - found.high, 1.0 - found.low), abs=1e-9)


def test_it_is_student_s_t_where_the_spread_is_small():
    values = 0.6 + 1e-6 * np.arange(5)
    found, plain = share_interval(values), t_interval(values)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-11)


def test_all_0_or_all_1_is_flagged_and_says_what_is_ruled_out():
    """The share of laws with mean m all of whose n values are 0 is largest where values are 0 or 1."""
    nothing, everything = share_interval([0.0] * 5), share_interval([1.0] * 5)
    assert (nothing.low, nothing.high, nothing.too_noisy) == (0.0, 0.0, True)
    assert nothing.remark == "all 5 values are the same; ruled out is a mean above 0.522"
    assert everything.remark == "all 5 values are the same; ruled out is a mean below 0.478"
    assert binomial(0, 5).high == pytest.approx(0.522, abs=5e-4)
    assert share_interval([0.5, 0.5]).remark == "all 2 values are the same"
    with pytest.raises(ValueError, match="shares lie from 0 to 1"):
        share_interval([0.5, 1.5])


def test_it_covers_where_student_s_t_does_not():
    """Beta, mean 0.02, deviation 0.02, 5 values: 93.4 % against 88.6 %; standard error 0.4."""
    rng, truth = np.random.default_rng(3), 0.02
    concentration = truth * (1.0 - truth) / 0.02**2 - 1.0
    runs = rng.beta(truth * concentration, (1.0 - truth) * concentration, (4000, 5))
    ours = np.mean([share_interval(run).contains(truth) for run in runs])
    plain = np.mean([t_interval(run).contains(truth) for run in runs])
    assert 0.92 < ours < 0.95
    assert plain < 0.90
