"""Claims: verdicts follow from where intervals lie, and no tie counts as a win."""

import math

import numpy as np
import pytest
from scipy import stats

from scenarios.reproduce.claims import (
    COMES_OUT,
    DOES_NOT_SHOW,
    TOO_NOISY,
    Claim,
    Quantity,
    asked,
    interval_of,
    reached,
    rising,
    sooner,
)


def verdict(values, least=0.0, most=math.inf, **others):
    return Claim(
        paper="", quantities=[Quantity(words="x", values=values, least=least, most=most, **others)]
    ).verdict


@pytest.mark.parametrize(
    ("values", "range_", "wanted"),
    [
        ([1.0, 1.1, 0.9], (0.0, math.inf), COMES_OUT),
        ([-1.0, -1.1, -0.9], (0.0, math.inf), DOES_NOT_SHOW),
        ([1.0, -1.1, 0.9], (0.0, math.inf), TOO_NOISY),
        ([1.0, 1.1, 0.9], (0.0, 3.0), COMES_OUT),
        ([1.0, 1.1, 0.9], (0.0, 1.1), TOO_NOISY),
        ([1.0, 1.1, 0.9], (2.0, 3.0), DOES_NOT_SHOW),
        ([1.0, 1.1, 0.9], (-3.0, 0.5), DOES_NOT_SHOW),
        ([0.0, 0.0, 0.0], (0.0, math.inf), DOES_NOT_SHOW),
        ([2.0, 2.0, 2.0], (0.0, math.inf), COMES_OUT),
        ([2.0], (0.0, math.inf), TOO_NOISY),
        ([2.0, math.nan, 2.0], (0.0, math.inf), TOO_NOISY),
    ],
)
def test_a_verdict_says_where_the_whole_interval_lies(values, range_, wanted):
    assert verdict(values, *range_) == wanted


def test_what_no_seed_can_change_needs_one():
    assert verdict([1.0], 0.5, 1.5, is_exact=True) == COMES_OUT
    assert verdict([0.5], 0.5, 1.5, is_exact=True) == DOES_NOT_SHOW


def test_intervals_of_a_claim_hold_together():
    """With several quantities each has Bonferroni's level, here by hand."""
    values = np.array([1.0, 2.0, 4.0])
    first, _ = Claim(paper="", quantities=[Quantity(words="x", values=values)] * 2).found
    half = stats.t.ppf(1.0 - 0.05 / 4.0, 2) * values.std(ddof=1) / math.sqrt(3.0)
    assert first.interval.low == pytest.approx(values.mean() - half, rel=1e-12)
    assert first.interval.high == pytest.approx(values.mean() + half, rel=1e-12)


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ([[1.0, 1.1, 0.9], [2.0, 2.2, 1.8]], COMES_OUT),
        ([[1.0, 1.1, 0.9], [2.0, -2.2, 1.8]], TOO_NOISY),
        ([[1.0, 1.1, 0.9], [-2.0, -2.2, -1.8]], DOES_NOT_SHOW),
        ([[1.0, -9.0, 0.9], [-2.0, -2.2, -1.8]], DOES_NOT_SHOW),
    ],
)
def test_a_claim_needs_all_of_its_quantities(parts, wanted):
    quantities = [Quantity(words="x", values=values, least=0.0) for values in parts]
    assert Claim(paper="", quantities=quantities).verdict == wanted


@pytest.mark.parametrize(
    ("least", "most", "words"),
    [
        (0.0, math.inf, "above 0"),
        (-math.inf, 25.0, "below 25"),
        (0.6713, 0.7313, "0.6713 to 0.7313"),
        (-0.05, 0.05, "-0.05 to 0.05"),
        (3.77 / 1.5, 3.77 * 1.5, "2.513 to 5.655"),
        (math.log(1.3), math.inf, "at least 0.2624"),
        (1.0 - 1e-9, math.inf, "at least 1"),
        (-math.inf, 1.0 + 1e-9, "at most 1"),
        (1.0 - 1e-12, 1.0 + 1e-12, "1"),
    ],
)
def test_a_range_is_told_with_rounded_ends(least, most, words):
    """1 lies above 1 - 1e-9, so "above 1" would be wrong."""
    assert asked(least, most) == words


def test_rising_compares_neighbours_seed_by_seed():
    later, last = rising("it", ["a", "b", "c"], [[1.0, 5.0], [2.0, 7.0], [2.5, 6.0]], "m")
    assert (later.words, later.values.tolist(), later.least) == ("it: b less a", [1.0, 2.0], 0.0)
    assert (last.words, last.values.tolist(), last.unit) == ("it: c less b", [0.5, -1.0], "m")


def test_a_difference_of_rounding_is_none():
    """Sums of the same times in another order, which no number of seeds would tell from a difference."""
    sums = np.array([0.1 + 0.2 + 0.3, 0.3, 1e9 + 1e-7])
    again = np.array([0.3 + 0.2 + 0.1, 0.1 + 0.2, 1e9])
    assert (sums != again).all()
    tied = rising("it", ["before", "after"], [sums, again])[0]
    assert tied.values.tolist() == [0.0, 0.0, 0.0]
    assert Claim(paper="", quantities=[tied]).verdict == DOES_NOT_SHOW


def test_a_target_counts_from_where_it_begins_to_hold():
    """One lucky evaluation decides nothing."""
    at, scores = [0.0, 1.0, 2.0, 3.0, 4.0], [0.1, 0.8, 0.6, 0.7, 0.9]
    for held, wanted in ((1, 1.0), (2, 3.0), (3, math.inf)):
        found = reached([(at, scores)], 0.7, held)
        assert (found.taken.tolist(), found.lasted.tolist()) == ([wanted], [4.0])
    assert reached([(at, [math.nan] * 5)], 0.0).taken.tolist() == [math.inf]


def curve(end: float, lasts: float):
    """A run that reaches 1 and holds it at an instant, or lasts without."""
    return (
        ([0.0, end, end, lasts], [0.0, 1.0, 1.0, 1.0]) if math.isfinite(end) else ([0.0, lasts], [0.0, 0.0])
    )


@pytest.mark.parametrize(
    ("own", "other", "ratio"),
    [
        ((2.0, 5.0), (3.0, 5.0), 1.5),
        ((3.0, 5.0), (2.0, 5.0), 2.0 / 3.0),
        ((2.0, 5.0), (math.inf, 4.0), 2.0),  # the other is known to take more than 4
        ((4.5, 5.0), (math.inf, 4.0), math.nan),  # unknown
        ((4.0, 5.0), (math.inf, 4.0), 1.0),
        ((math.inf, 4.0), (2.0, 5.0), 0.5),
        ((math.inf, 4.0), (4.5, 5.0), math.nan),
        ((math.inf, 4.0), (math.inf, 9.0), math.nan),
    ],
)
def test_a_run_that_missed_counts_as_what_it_is_known_to_take(own, other, ratio):
    quantity = sooner("a", reached([curve(*own)], 1.0), "b", reached([curve(*other)], 1.0), "s")
    np.testing.assert_array_equal(quantity.values, [ratio])


def test_a_ratio_and_its_inverse_say_the_same():
    """Intervals by the logarithms."""
    values = np.array([200.0, 20.0, 2.0])
    own, inverse = (
        Quantity(words="", values=of, least=1.0, is_ratio=True).found(0.95).interval
        for of in (values, 1 / values)
    )
    spread = stats.t.ppf(0.975, 2) * np.std(np.log(values), ddof=1) / math.sqrt(3)
    assert own.estimate == pytest.approx(20.0)
    assert [own.low, own.high] == pytest.approx([20.0 * math.exp(-spread), 20.0 * math.exp(spread)])
    assert [inverse.low, inverse.high] == pytest.approx([1.0 / own.high, 1.0 / own.low])


def test_intervals_without_width_are_flagged_unless_seeds_agree():
    assert interval_of(np.array([2.0])).too_noisy
    assert not interval_of(np.array([2.0, 2.0])).too_noisy
    assert interval_of(np.array([1.0, math.inf])).remark == "not known with 1 of 2 seeds"
    (found,) = Claim(paper="", quantities=[Quantity(words="x", values=[1.0, math.nan])]).found
    assert found.in_words == "x: not known with 1 of 2 seeds"


def test_zeros_of_a_rare_event_say_little():
    """Ten runs without it would not tell a chance of a tenth from none."""
    for values, verdict in (([0.0] * 10, TOO_NOISY), ([0.1] * 10, DOES_NOT_SHOW), ([2.0] * 10, COMES_OUT)):
        quantity = Quantity(words="", values=values, least=1.0, is_rare=True)
        assert Claim(paper="", quantities=[quantity]).verdict == verdict
    none = Quantity(words="", values=[0.0, 0.0], least=1.0)
    assert Claim(paper="", quantities=[none]).verdict == DOES_NOT_SHOW
