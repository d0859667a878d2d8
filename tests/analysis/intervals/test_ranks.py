"""Ranks of designs on shared seeds: by hand, what does not move them, and how often they hold."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.intervals.ranks import Ranks, ranks

pytestmark = pytest.mark.quick


def test_few_seeds_by_hand():
    """Errors of 0.1 about designs at 0, 1 and 1.05: four squares of 0.01 over 2 degrees of freedom."""
    errors = 0.1 * np.array([[1, -1], [-1, 1], [0, 0]])
    found = ranks(np.exp(np.array([[0.0], [1.0], [1.05]]) + errors))
    q = 8.331  # studentised range of 3 means, 2 degrees of freedom, 95 %, from the table
    assert found.assumes_one_spread
    assert found.reach == pytest.approx(q * math.sqrt(0.04 / 2 / 2), rel=1e-3)
    assert [found.of(design) for design in range(3)] == [Ranks(1, 1), Ranks(2, 3), Ranks(2, 3)]
    assert [found.are_apart(*pair) for pair in ((0, 1), (0, 2), (1, 2))] == [True, True, False]
    ratio = found.ratio(1, 0)
    assert ratio.estimate == pytest.approx(math.e)
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(1 - 0.8331), math.exp(1.8331)), rel=1e-3)
    assert found.order == [0, 1, 2]
    assert [str(found.of(design)) for design in range(2)] == ["1", "2 to 3"]


@pytest.mark.parametrize("num_seeds", [4, 7])
def test_two_designs_are_a_paired_t_test(num_seeds):
    """With two designs the studentised range is the paired t of their logarithms, too."""
    taken = np.exp(np.random.default_rng(1).normal(size=(2, num_seeds)))
    differences = np.log(taken[1]) - np.log(taken[0])
    reach = stats.t.ppf(0.975, num_seeds - 1) * differences.std(ddof=1) / math.sqrt(num_seeds)
    assert ranks(taken).reach[0, 1] == pytest.approx(reach, rel=1e-6)


def test_enough_seeds_by_hand():
    """3 pairs share the error of 5 %; each has the spread of its own differences."""
    logs = np.random.default_rng(2).normal(size=(3, 6)) * [[1.0], [1.0], [0.1]]
    found = ranks(np.exp(logs))
    assert not found.assumes_one_spread
    for pair in ((0, 1), (0, 2), (1, 2)):
        spread = (logs[pair[0]] - logs[pair[1]]).std(ddof=1)
        expected = stats.t.isf(0.025 / 3, 5) * spread / math.sqrt(6)
        assert found.reach[pair] == found.reach[pair[::-1]] == pytest.approx(expected)


@pytest.mark.parametrize("num_seeds", [4, 8])
def test_seeds_that_are_slow_for_all_move_nothing(num_seeds):
    rng = np.random.default_rng(3)
    taken = np.exp(rng.normal(size=(5, num_seeds)))
    here, there = ranks(taken), ranks(taken * np.exp(rng.normal(size=num_seeds)))
    assert there.reach == pytest.approx(here.reach)
    assert np.diff(there.log_means) == pytest.approx(np.diff(here.log_means))


@pytest.mark.parametrize(
    ("num_seeds", "spreads"), [(3, (0.1,) * 6), (8, (0.1,) * 6), (8, (0.4, 0.2, 0.1, 0.1, 0.1, 0.1))]
)
def test_designs_of_which_none_is_better_are_told_apart_as_seldom_as_said(num_seeds, spreads):
    """Of 6 designs, in at most 5 % of 1,500 studies and 3.3 standard errors; a t test for each pair: 30 %."""
    rng = np.random.default_rng(4)
    told = [
        any(worst < len(spreads) for _, worst in map(ranks(np.exp(logs)).of, range(len(spreads))))
        for logs in rng.normal(size=(1500, len(spreads), num_seeds)) * np.array(spreads)[:, None]
    ]
    assert np.mean(told) < 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 1500)
    assert np.mean(told) > 0.02  # no wider than need be


@pytest.mark.parametrize(
    "taken", [[[1.0, 2.0]], [[1.0], [2.0]], [[1.0, 2.0], [1.0, math.inf]], [[1.0, 2.0], [0.0, 1.0]], [1.0]]
)
def test_what_has_no_place_is_refused(taken):
    with pytest.raises(ValueError, match="Leave out"):
        ranks(taken)
