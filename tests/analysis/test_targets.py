"""Targets that some runs miss: nothing vanishes, and no number is better for a miss."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.targets import Pairs, common_horizon, pairs, restricted_mean, to_target

pytestmark = pytest.mark.quick

RUN = st.tuples(st.integers(1, 9), st.integers(1, 9))
"""When a run would reach its target, and how long it lasts."""


def censored(runs: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Observed runs: taken (infinite if missed) and lasted."""
    taken = [float(truth) if truth <= lasts else math.inf for truth, lasts in runs]
    return taken, [float(lasts) for _, lasts in runs]


@given(st.lists(RUN, min_size=2, max_size=8), st.lists(RUN, min_size=2, max_size=8))
def test_restricted_means_are_those_of_the_truth(first, second):
    """Up to the horizon they are what runs that never end would give."""
    seen = [censored(first), censored(second)]
    horizon = common_horizon(seen)
    for runs, (taken, _) in zip((first, second), seen, strict=True):
        truths = np.minimum([float(truth) for truth, _ in runs], horizon)
        found = restricted_mean(taken, horizon)
        assert found.estimate == pytest.approx(truths.mean(), rel=1e-12)
        assert 0.0 <= found.low <= found.estimate <= found.high <= horizon
    missed = any(truth > lasts for truth, lasts in [*first, *second])
    assert math.isinf(horizon) == (not missed)


@given(st.lists(st.tuples(RUN, RUN), min_size=1, max_size=8))
def test_pairs_are_decided_only_where_every_truth_that_fits_says_so(seeds):
    own, other = censored([a for a, _ in seeds]), censored([b for _, b in seeds])

    def possible(taken: float, lasted: float) -> list[float]:
        return [taken] if math.isfinite(taken) else [lasted + 0.5, lasted + 100.0, math.inf]

    counts = [0, 0, 0]
    for a, a_lasted, b, b_lasted in zip(*own, *other, strict=True):
        ways = [
            np.sign(x - y) if x != y else 0.0 for x in possible(a, a_lasted) for y in possible(b, b_lasted)
        ]
        counts[0 if set(ways) == {-1.0} else 1 if set(ways) == {1.0} else 2] += 1
    assert pairs(*own, *other) == Pairs(*counts)
    assert pairs(*other, *own) == Pairs(counts[1], counts[0], counts[2])


def test_pairs_that_differ_by_rounding_are_undecided():
    sums, again = [0.1 + 0.2, 2.0], [0.3, 1.0]
    assert sums[0] > again[0]
    assert pairs(sums, sums, again, again) == Pairs(wins=0, losses=1, undecided=1)
    assert pairs(again, again, sums, sums) == Pairs(wins=1, losses=0, undecided=1)


def test_a_design_in_which_one_seed_missed_does_not_vanish():
    taken, lasted = [2.0, 3.0, math.inf, 2.5, 2.0], [6.0, 6.0, 5.0, 6.0, 6.0]
    found = to_target(taken, common_horizon([(taken, lasted)]))
    assert str(found) == "4 of 5 reached"
    assert found.reached.estimate == 0.8
    assert found.horizon == 5.0
    assert found.median is None
    half = stats.t.ppf(0.975, 4) * np.std([2.0, 3.0, 5.0, 2.5, 2.0], ddof=1) / math.sqrt(5.0)
    assert found.restricted_mean.estimate == pytest.approx(2.9, rel=1e-12)
    assert found.restricted_mean.half_width == pytest.approx(half, rel=1e-12)
    six = to_target([*taken, 2.2], 5.0)
    assert (six.median.low, six.median.estimate, six.median.high) == (2.0, pytest.approx(2.35), math.inf)


def test_where_all_reach_it_the_restricted_mean_is_the_mean():
    taken = [1.0, 2.0, 6.0]
    found = to_target(taken, common_horizon([(taken, [9.0, 9.0, 9.0])]))
    assert found.horizon == math.inf
    low, high = stats.t.interval(0.95, 2, np.mean(taken), stats.sem(taken))
    assert low < 0.0 == found.restricted_mean.low
    assert found.restricted_mean.high == pytest.approx(high, rel=1e-12)


def test_one_run_has_no_width_and_a_design_that_always_missed_stands_at_the_horizon():
    one = to_target([math.inf], 4.0).restricted_mean
    assert (one.estimate, one.too_noisy, one.remark) == (4.0, True, "one seed")
    none = to_target([math.inf] * 6, 4.0)
    assert none.restricted_mean.estimate == 4.0
    assert none.median.low == math.inf
    assert none.reached.high < 0.5
    assert str(Pairs(3, 1, 0)) == "3 wins, 1 loss, 0 undecided"


def test_a_mean_lies_within_its_interval_to_the_last_bit():
    horizon = 0.2831853071795865
    for number in range(2, 12):
        for value in (0.1, horizon):
            found = restricted_mean([value] * number, horizon)
            assert found.low <= found.estimate <= found.high <= horizon
