"""Intervals of medians: their ranks by counting, their exact coverage, and values that are infinite."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.intervals.medians import median_interval

pytestmark = pytest.mark.quick


def covering(num_values: int, rank: int) -> float:
    """How often the rank-th and the rank-th from above enclose the median, over all 2^n ways to lie."""
    ways = [sum(way) for way in product((0, 1), repeat=num_values)]
    return sum(rank <= above <= num_values - rank for above in ways) / len(ways)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("num_values", range(1, 14))
def test_ranks_are_the_narrowest_that_cover_as_often_as_asked(num_values, level):
    found = median_interval(np.arange(1.0, num_values + 1.0), level)
    ranks = [rank for rank in range(1, num_values // 2 + 1) if covering(num_values, rank) >= level]
    assert (found is None) == (not ranks)
    if found is not None:
        assert (found.low, found.high) == (max(ranks), num_values + 1 - max(ranks))


def test_six_are_the_fewest_for_95_percent():
    assert median_interval([1.0] * 5) is None
    assert median_interval([]) is None
    found = median_interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
    assert (found.low, found.estimate, found.high) == (1.0, 3.5, 6.0)


@pytest.mark.parametrize(("num_missed", "median", "high"), [(1, 3.5, math.inf), (3, math.inf, math.inf)])
def test_a_run_that_never_got_there_is_beyond_all_others(num_missed, median, high):
    values = np.arange(1.0, 7.0)
    values[6 - num_missed :] = math.inf
    found = median_interval(values)
    assert (found.low, found.estimate, found.high) == (1.0, median, high)


@given(st.permutations(list(range(9))), st.integers(1, 5))
def test_it_turns_with_any_rising_scale(order, power):
    values = np.array(order, dtype=float)
    found, scaled = median_interval(values), median_interval(values**power)
    assert (scaled.low, scaled.high) == (found.low**power, found.high**power)


def test_no_number_is_refused():
    with pytest.raises(ValueError, match="no number"):
        median_interval([1.0, math.nan])
