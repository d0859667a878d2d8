"""Instants: sums of decimals are decimals, on a float and on an array, and what fits is in time."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosim import ConfigurationError
from cosim.clock.instants import (
    LATEST_S,
    any_is_short,
    deadline_after,
    duration_between,
    instant_after,
    is_short,
    num_periods,
)
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Simulation

pytestmark = pytest.mark.quick

NANOSECOND = Decimal("1e-9")
starts = st.one_of(st.decimals(0, 10, places=9), st.decimals(0, 999_000, places=9))
durations = st.one_of(
    st.decimals(0, 1, places=9), st.decimals(0, 100, places=3), st.decimals(0, 400, places=9)
)


@given(start=starts, a=durations, b=durations)
@settings(max_examples=300)
def test_what_takes_a_plus_b_ends_by_their_sum_and_a_nanosecond_more_does_not(start, a, b):
    start_s, trained_s = float(start), instant_after(float(start), float(a))
    ends_s, late_s = (instant_after(trained_s, float(b + more)) for more in (0, NANOSECOND))
    assert trained_s == float(start + a)
    assert ends_s == deadline_after(start_s, float(a + b)) == float(start + a + b)
    assert late_s > deadline_after(start_s, float(a + b))
    assert duration_between(trained_s, ends_s) == float(b)


@given(start=starts, c=st.decimals("0.001", 400, places=3), share=st.fractions(0, 1, max_denominator=99))
def test_two_parts_of_any_length_are_over_by_a_decimal_that_is_their_sum(start, c, share):
    """Such as 1 / 3 s and 2 / 3 s."""
    parts = share * Fraction(c), (1 - share) * Fraction(c)
    ends_s = float(start)
    for part in parts:
        ends_s = instant_after(ends_s, float(part))
    assert ends_s == deadline_after(float(start), float(c)) == float(start + c)


times = st.one_of(st.floats(0.0, 1e-6), st.floats(0.0, 1e3), st.floats(0.0, 1e12), st.just(math.inf))


@given(pairs=st.lists(st.tuples(times, times), min_size=1, max_size=30))
@pytest.mark.parametrize("after", [instant_after, deadline_after])
def test_an_array_has_the_bits_of_its_floats(after, pairs):
    start_s, lasts_s = (instant_after(0.0, np.array(each)) for each in zip(*pairs, strict=True))
    each = [after(*pair) for pair in zip(start_s.tolist(), lasts_s.tolist(), strict=True)]
    assert after(start_s, lasts_s).tolist() == each
    assert after(start_s[0], lasts_s).tolist() == [after(start_s.item(0), one) for one in lasts_s.tolist()]
    assert after(start_s, lasts_s[0]).tolist() == [after(one, lasts_s.item(0)) for one in start_s.tolist()]
    assert after(np.array(start_s[0]), np.array(lasts_s[0])) == each[0]


@given(start_s=times, lasts_s=times, more_s=times)
def test_instants_stay_where_they_are_and_never_go_back(start_s, lasts_s, more_s):
    start_s = instant_after(0.0, start_s)
    ends_s = instant_after(start_s, lasts_s)
    assert instant_after(0.0, ends_s) == deadline_after(0.0, ends_s) == instant_after(ends_s, 0.0) == ends_s
    assert start_s <= ends_s <= deadline_after(start_s, lasts_s)
    assert ends_s <= instant_after(start_s, lasts_s + more_s)
    if ends_s < math.inf:
        assert abs(ends_s - (start_s + lasts_s)) <= max(1.1e-15 * 10.0 * ends_s, 1e-22)


@given(
    period=st.decimals("0.001", 10, places=3), num=st.integers(0, 10_000), more=st.decimals(0, 1, places=3)
)
def test_periods_are_counted_as_decimals(period, num, more):
    now = num * period + more
    assert num_periods(float(now), float(period)) == now // period


@pytest.mark.parametrize("shuffle_ties", [None, 1])
def test_the_clock_adds_decimals_and_ends_in_one_sentence(shuffle_ties):
    sim = Simulation(seed=1, shuffle_ties=shuffle_ties)

    def process(last_s):
        yield from sim.spend("a", "train", 0.1)
        yield sim.timer(0.2)
        assert sim.now_s == 0.3
        yield sim.at(last_s)
        return sim.now_s

    assert sim.run(sim.with_deadline([process(2e6)], 1e6)) == [Dropped("deadline")]


@pytest.mark.parametrize("shuffle_ties", [None, 1])
def test_the_clock_ends_in_one_sentence(shuffle_ties):
    def waiting(sim, until_s):
        yield sim.at(until_s)
        return sim.now_s

    sim = Simulation(seed=1, shuffle_ties=shuffle_ties)
    assert sim.run(waiting(sim, LATEST_S)) == LATEST_S
    sim = Simulation(seed=1, shuffle_ties=shuffle_ties)
    with pytest.raises(ConfigurationError, match=r"not over at 1e\+09 s \(32 years\), .* Use an earlier"):
        sim.run(waiting(sim, 1.1e9))


def test_one_of_several_jobs_is_short_where_one_asked_by_itself_is():
    rng, found = np.random.default_rng(1), []
    for _ in range(3000):
        num = int(rng.integers(1, 5))
        starts_s = 10.0 ** rng.uniform(-8, 9) * rng.choice([0.0, 1.0, 0.3], num)
        lasts_s = 10.0 ** rng.uniform(-12, -2) * rng.choice([0.0, 1.0, 1.1, 30.0], num)
        one_by_one = any(is_short(*of) for of in zip(starts_s.tolist(), lasts_s.tolist(), strict=True))
        found.append(one_by_one)
        assert any_is_short(starts_s, lasts_s) == one_by_one, (starts_s, lasts_s)
    assert 300 < sum(found) < 2700
