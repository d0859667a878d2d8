"""The integral of a rate over time: against sums of fractions, over gaps, turns and ends, and long traces."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosim.links.traces.course import Course, Rate

RATES = st.one_of(st.just(0.0), st.floats(1e-3, 1e9), st.sampled_from([1.0, 1e3, 1e12]))


@st.composite
def rates(draw) -> tuple[Rate, list[Fraction], list[Fraction], Fraction | None]:
    """A rate, and its stamps, rates and end as fractions; None means that it holds."""
    steps = draw(st.lists(st.sampled_from([0.1, 0.5, 1.0, 3.7, 1e-4, 900.0]), min_size=1, max_size=12))
    time_s = np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    rate_bps = np.array(draw(st.lists(RATES, min_size=len(steps), max_size=len(steps))))
    rate_bps[draw(st.integers(0, len(steps) - 1))] = 1e4
    kind = draw(st.sampled_from(["holds", "repeats", "ends"]))
    if kind == "holds":
        rate_bps[-1] = max(rate_bps[-1], 1.0)
    end_s = math.inf if kind == "holds" else float(time_s[-1] + steps[-1])
    offset_s = draw(st.sampled_from([0.0, 0.3, 17.0])) if kind != "ends" else 0.0
    course = Course(time_s, end_s, repeats=kind == "repeats", offset_s=offset_s)
    exact = [Fraction(float(value)) for value in time_s]
    return (
        Rate(course, rate_bps),
        exact,
        [Fraction(float(value)) for value in rate_bps],
        (None if end_s == math.inf else Fraction(end_s)),
    )


def pieces(found, now: Fraction):
    """(from, to, rate) from an instant of the trace on, going from row to row; the last `to` may be None."""
    rate, time_s, rate_bps, end_s = found
    base = Fraction(0)
    if rate.course.repeats:
        base = (now // end_s) * end_s
    while True:
        for row, (begin, bps) in enumerate(zip(time_s, rate_bps, strict=True)):
            until = time_s[row + 1] if row + 1 < len(time_s) else end_s
            if until is None or base + until > now:
                yield max(now, base + begin), None if until is None else base + until, bps
        if not rate.course.repeats:
            return
        base += end_s


def exact_bits(found, start_s: float, end_s: float) -> Fraction:
    """Going from row to row, but for whole turns of a trace that repeats, which have the same bits each."""
    offset, total = Fraction(found[0].course.offset_s), Fraction(0)
    first, last = Fraction(start_s) + offset, Fraction(end_s) + offset
    if found[0].course.repeats and last > first:
        num_turns, ends = (last - first) // found[3], [*found[1][1:], found[3]]
        of_a_turn = zip(found[1], ends, found[2], strict=True)
        total = num_turns * sum((bps * (until - begin) for begin, until, bps in of_a_turn), Fraction(0))
        first += num_turns * found[3]
    for begin, until, bps in pieces(found, first):
        if begin >= last:
            break
        total += bps * ((last if until is None else min(last, until)) - begin)
    return total


def slack_bits(found, *instants_s: float) -> float:
    """Bits that a rounding of the clock's time carries at the highest rate."""
    latest_s = max(instants_s) + found[0].course.offset_s + 1.0
    return 4.0 * math.ulp(latest_s) * float(max(found[2]))


@settings(max_examples=300)
@given(rates(), st.floats(0.0, 5e3), st.floats(0.0, 1e3))
def test_bits_between_two_instants_are_the_integral(found, start_s, lasts_s):
    bits = found[0].bits(start_s, start_s + lasts_s)
    exact = exact_bits(found, start_s, start_s + lasts_s)
    slack = slack_bits(found, start_s + lasts_s)
    assert abs(Fraction(bits) - exact) <= Fraction(1e-9) * exact + Fraction(slack)


@settings(max_examples=300)
@given(rates(), st.floats(0.0, 1e3), st.floats(1.0, 1e7))
def test_an_end_is_where_the_integral_reaches_the_bits(found, start_s, bits):
    """From any instant, as after a jump of the clock: no state, so as by going from row to row."""
    end_s = found[0].end_s(start_s, bits)
    if end_s == math.inf:
        assert not found[0].course.repeats
        last_s = float(found[3])
        assert start_s >= last_s or exact_bits(found, start_s, last_s) < bits * (1 + 1e-9)
        return
    assert end_s >= start_s
    slack = Fraction(1e-9 * bits + slack_bits(found, end_s))
    assert abs(exact_bits(found, start_s, end_s) - Fraction(bits)) <= slack


@settings(max_examples=200)
@given(rates(), st.floats(0.0, 1e3), st.floats(1.0, 1e7), st.lists(st.floats(0.0, 1.0), max_size=5))
def test_cuts_share_out_the_bits(found, start_s, bits, cuts):
    """A cut upload that goes on with what it has left ends where the whole one does."""
    rate = found[0]
    end_s = rate.end_s(start_s, bits)
    if end_s == math.inf:
        return
    left, now_s = bits, start_s
    for cut in sorted(cuts):
        at_s = max(now_s, start_s + cut * (end_s - start_s))
        left -= rate.bits(now_s, at_s)
        now_s = at_s
    slack = 1e-9 * bits + 8.0 * slack_bits(found, end_s)
    again_s = rate.end_s(now_s, left) if left > slack else end_s
    assert abs(exact_bits(found, start_s, again_s) - Fraction(bits)) <= Fraction(slack)


def test_what_a_long_trace_has_carried_before_costs_no_accuracy():
    """After 1e15 bits a float of their sum would know 100,000 bits to 1e-6 only."""
    time_s = np.arange(0.0, 2e6, 1.0)
    rate_bps = np.where(np.arange(len(time_s)) % 3, 1e9 + 1.0 / 3.0, 5e8)
    rate = Rate(Course(time_s, math.inf, repeats=False), rate_bps)
    start_s, bits = 1_500_000.0, 2.1e9
    end_s = rate.end_s(start_s, bits)
    exact = Fraction(0)
    for second in range(int(start_s), int(end_s) + 1):
        lasts = min(Fraction(end_s), second + 1) - max(Fraction(start_s), second)
        exact += Fraction(float(rate_bps[second])) * lasts
    assert abs(exact / Fraction(bits) - 1) < 2 * Fraction(math.ulp(end_s)) * 10**9 / Fraction(bits)
    assert rate.bits(0.0, 1e6) == pytest.approx(math.fsum(rate_bps[:1_000_000]), rel=1e-15)


def test_an_end_is_the_first_instant_at_which_all_bits_are_through():
    """Not the end of the silence that follows."""
    rate = Rate(Course(np.array([0.0, 1.0, 2.0, 5.0]), 6.0, repeats=True), np.array([100.0, 0.0, 0.0, 50.0]))
    assert rate.end_s(0.0, 100.0) == 1.0
    assert rate.end_s(0.0, 101.0) == pytest.approx(5.02, rel=1e-15)
    assert rate.end_s(0.0, 150.0) == 6.0
    assert rate.end_s(0.0, 300.0) == 12.0
    assert rate.end_s(1.5, 200.0) == pytest.approx(11.0 + 1.0, rel=1e-15)
    assert rate.end_s(600.5, 50.0) == 601.0
    assert rate.bits(0.5, 600.5) == 15_000.0
