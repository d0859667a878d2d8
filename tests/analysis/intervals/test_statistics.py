"""Intervals: arithmetic, exact coverage of counts, and measured coverage with controls that must fail.

A measured coverage "is at least 93 %" where the exact 99.9 % interval of the measurement does not lie below
93 %; every such check stands beside a textbook interval on the same runs that fails it.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from scipy.signal import lfilter

from analysis.intervals.batch_means import autocorrelation_time, batch_means, mser5
from analysis.intervals.regenerative import (
    MIN_CYCLES,
    MIN_TELLING_CYCLES,
    cycles,
    jackknife,
    regenerative,
    regenerative_each,
)
from analysis.intervals.statistics import (
    NOT_OBSERVED,
    Interval,
    binomial,
    difference,
    familywise,
    mean_interval,
    paired_difference,
    t_interval,
)
from scenarios.validate.queue_arrays import waiting_s

EXACTLY = {"rel": 1e-12, "abs": 0.0}
T_975_4 = 2.7764451051977987
"""The 97.5 % point of t with 4 degrees of freedom, from tables."""


def measured(hits: list[bool]) -> Interval:
    """The share of hits, exact at 99.9 %."""
    return binomial(sum(hits), len(hits), level=0.999)


def covers(hits: list[bool], least: float = 0.93, most: float = 1.0) -> bool:
    """True if a coverage between these is not ruled out by the measurement."""
    share = measured(hits)
    return share.high >= least and share.low <= most


# --- By hand ----------------------------------------------------------------------------------------------


def test_t_interval_by_hand():
    found = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    half_width = T_975_4 * math.sqrt(2.5 / 5.0)
    assert found.estimate == 3.0
    assert (found.low, found.high) == pytest.approx((3.0 - half_width, 3.0 + half_width), **EXACTLY)
    assert found.half_width == pytest.approx(half_width, **EXACTLY)
    assert not found.too_noisy


def test_paired_difference_by_hand():
    """The differences b - a are 0, 1, 2, 3, 4, whatever the pairs have in common."""
    a = np.array([10.0, 50.0, 20.0, 90.0, 70.0])
    found = paired_difference(a, a + np.arange(5.0))
    assert (found.estimate, found.half_width) == pytest.approx((2.0, T_975_4 * math.sqrt(0.5)), **EXACTLY)


def test_a_difference_of_rounding_is_none():
    """Sums of the same numbers in another order, on every seed above or below by rounding only."""
    a = np.array([0.1 + 0.2 + 0.3, 1e9 + 1e-7, 0.1 + 0.2])
    b = np.array([0.3 + 0.2 + 0.1, 1e9, 0.3])
    assert (a > b).all()
    found = paired_difference(a, b)
    assert (found.estimate, found.low, found.high) == (0.0, 0.0, 0.0)
    assert difference([1.0 + 1e-9, -2.0], [1.0, 2.0]) == pytest.approx([1e-9, -4.0])


def test_equal_replications_say_nothing():
    assert t_interval([0.1 + 0.2, 0.3, 0.3]).too_noisy
    assert t_interval([0.3, 0.3, 0.3]).verdict(0.4) == "too noisy"
    assert paired_difference([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]).too_noisy


@pytest.mark.parametrize(
    ("theory", "margin", "too_noisy", "verdict"),
    [
        (1.0, None, False, "agrees"),
        (1.25, None, False, "agrees"),
        (1.26, None, False, "disagrees"),
        (0.74, 0.5, False, "disagrees"),
        (1.0, 0.25, False, "agrees"),
        (1.0, 0.24, False, "too noisy"),
        (1.26, 0.24, False, "disagrees"),
        (1.0, 0.5, True, "too noisy"),
        (9.0, 0.5, True, "too noisy"),
        (math.inf, None, False, "disagrees"),
    ],
)
def test_verdicts(theory, margin, too_noisy, verdict):
    interval = Interval(estimate=1.0, low=0.75, high=1.25, level=0.95, too_noisy=too_noisy)
    assert interval.half_width == 0.25
    assert interval.verdict(theory, margin) == verdict


def test_text():
    interval = Interval(estimate=0.123456, low=0.1, high=0.2, level=0.95, too_noisy=True, remark="3 cycles")
    assert str(interval) == "0.1235 [0.1, 0.2] (95 %), too noisy: 3 cycles"
    assert interval.text(2) == "0.12 [0.1, 0.2] (95 %), too noisy: 3 cycles"
    assert str(binomial(0, 99)) == f"0 [0, 0.03658] (95 %), {NOT_OBSERVED}"
    assert str(binomial(99, 99, level=familywise(10))).endswith("(99.5 %)")


def test_familywise_by_hand():
    assert familywise(10) == 0.995
    assert familywise(1, error=0.2) == 0.8


# --- Counts, exactly --------------------------------------------------------------------------------------


def coverage_of_counts(intervals: list[Interval], probability: float) -> float:
    num_trials = len(intervals) - 1
    weights = stats.binom.pmf(np.arange(num_trials + 1), num_trials, probability)
    return float(sum(w for w, i in zip(weights, intervals, strict=True) if i.contains(probability)))


def wald(successes: int, trials: int) -> Interval:
    share = successes / trials
    reach = 1.96 * math.sqrt(share * (1.0 - share) / trials)
    return Interval(estimate=share, low=share - reach, high=share + reach, level=0.95)


@pytest.mark.parametrize("num_trials", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.995])
def test_counts_are_covered_exactly(num_trials, level):
    intervals = [binomial(k, num_trials, level) for k in range(num_trials + 1)]
    grid = [*np.linspace(0.0, 1.0, 101), 1e-4, 0.999]
    assert min(coverage_of_counts(intervals, p) for p in grid) >= level - 1e-12
    walds = [wald(k, num_trials) for k in range(num_trials + 1)]
    assert min(coverage_of_counts(walds, p) for p in grid[1:100]) < 0.9


@pytest.mark.parametrize("num_trials", [1, 7, 1000])
def test_what_was_not_observed_may_still_happen(num_trials):
    found = binomial(0, num_trials)
    assert (found.estimate, found.low, found.remark) == (0.0, 0.0, NOT_OBSERVED)
    assert found.high == pytest.approx(1.0 - 0.025 ** (1.0 / num_trials), rel=1e-9)
    mirror = binomial(num_trials, num_trials)
    assert (mirror.low, mirror.high) == (pytest.approx(1.0 - found.high, rel=1e-9), 1.0)


def test_the_ends_of_a_count_leave_half_the_error_each():
    found = binomial(3, 40)
    assert stats.binom.sf(2, 40, found.low) == pytest.approx(0.025, rel=1e-9)
    assert stats.binom.cdf(3, 40, found.high) == pytest.approx(0.025, rel=1e-9)


# --- Replications and batches, measured -------------------------------------------------------------------


def test_t_intervals_cover():
    """With 5 normal values a normal quantile in place of t covers only 88 %."""
    draws = np.random.default_rng(1).standard_normal((3000, 5))
    assert covers([t_interval(row).contains(0.0) for row in draws], 0.95, 0.95)
    errors = draws.std(axis=1, ddof=1) / math.sqrt(5)
    assert not covers(list(np.abs(draws.mean(axis=1)) <= 1.96 * errors))


def ar1(rng: np.random.Generator, count: int, start: float = 20.0) -> np.ndarray:
    """Coefficient 0.9, mean 0, first value far off."""
    noise = rng.standard_normal(count)
    noise[0] = start
    return np.asarray(lfilter([1.0], [1.0, -0.9], noise))


def mm1(rng: np.random.Generator, count: int) -> np.ndarray:
    """Waiting at load 0.5 from an empty start; the mean is 0.5."""
    return waiting_s(np.cumsum(rng.exponential(1.0, count)), rng.exponential(0.5, count))


@pytest.mark.parametrize(("draw", "truth"), [(ar1, 0.0), (mm1, 0.5)])
def test_batch_means_cover_where_the_naive_interval_does_not(draw, truth):
    rng = np.random.default_rng(2)
    series = [draw(rng, 24_000) for _ in range(400)]
    found = [batch_means(values) for values in series]
    assert sum(interval.too_noisy for interval in found) <= 12
    assert covers([i.contains(truth) for i in found if not i.too_noisy], 0.93, 0.97)
    assert not covers([t_interval(values).contains(truth) for values in series], 0.6)


def test_short_series_are_too_noisy():
    rng = np.random.default_rng(3)
    found = [batch_means(ar1(rng, 5000)) for _ in range(100)]
    assert all(interval.too_noisy for interval in found)
    assert "needed" in found[0].remark


def test_a_series_that_does_not_settle_is_too_noisy():
    drift = np.random.default_rng(4).standard_normal(20_000) + np.linspace(0.0, 20.0, 20_000)
    assert "warm-up" in batch_means(drift).remark
    assert batch_means(np.full(5000, 0.1)).too_noisy


def test_batch_means_by_hand():
    """Twenty batches of 200, the rest and the warm-up cut off in front, then the interval of their means."""
    series = np.random.default_rng(5).standard_normal(4150)
    means = [series[150 + 200 * i : 350 + 200 * i].mean() for i in range(20)]
    assert batch_means(series, 0.9, warm_up=140) == mean_interval(np.array(means), 0.9)


def test_mser5_cuts_a_planted_transient():
    series = np.random.default_rng(6).standard_normal(10_000)
    series[:600] += 3.0
    assert 600 <= mser5(series) <= 620
    found, uncut = batch_means(series), batch_means(series, warm_up=0)
    assert found.verdict(0.0, margin=0.05) == "agrees"
    assert uncut.estimate > 0.15
    assert uncut.too_noisy


@given(st.lists(st.floats(-10.0, 10.0, width=16), min_size=30, max_size=80))
@settings(max_examples=50)
def test_mser5_finds_the_least_standard_error(values):
    fives = [np.mean(values[i : i + 5]) for i in range(0, len(values) // 5 * 5, 5)]
    errors = [np.var(fives[cut:]) / (len(fives) - cut) for cut in range(len(fives) - 5)]
    assert errors[mser5(values) // 5] == pytest.approx(min(errors), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_autocorrelation_time_of_an_autoregression(phi):
    noise = np.random.default_rng(7).standard_normal(400_000)
    series = np.asarray(lfilter([1.0], [1.0, -phi], noise)) + 1000.0
    assert autocorrelation_time(series) == pytest.approx((1.0 + phi) / (1.0 - phi), rel=0.05)


def test_autocorrelation_time_sums_covariances():
    """Of a short series, lag by lag; a circular covariance would wrap its ends together."""
    values = np.cumsum(np.random.default_rng(15).standard_normal(100))
    centred = values - values.mean()
    covariances = [float(centred[: 100 - lag] @ centred[lag:]) for lag in range(100)]
    time, lag = 1.0, 0
    while lag < 5.0 * time and lag < 99:
        lag += 1
        time += 2.0 * covariances[lag] / covariances[0]
    assert autocorrelation_time(values) == pytest.approx(time, rel=1e-9)


# --- Cycles, exactly --------------------------------------------------------------------------------------


def test_cycles_by_hand():
    """The packets before the first start and from the last one on belong to no complete cycle."""
    starts = np.array([False, True, False, True, True, False, False, True, False])
    sums, lengths = cycles(starts, np.arange(9.0))
    assert (sums.tolist(), lengths.tolist()) == ([3.0, 3.0, 15.0], [2, 1, 3])
    both, _ = cycles(starts, np.stack([np.arange(9.0), np.arange(9) >= 5], axis=1))
    assert both.tolist() == [[3.0, 0.0], [3.0, 0.0], [15.0, 2.0]]
    counts, _ = cycles(starts, np.ones(9, dtype=bool))
    assert counts.tolist() == lengths.tolist()


@pytest.mark.parametrize("starts", [[False] * 4, [False, True, False, False]])
def test_without_two_starts_there_is_no_cycle(starts):
    sums, lengths = cycles(np.array(starts), np.ones((4, 2)))
    assert (sums.shape, lengths.shape) == ((0, 2), (0,))


def test_pseudo_values_leave_one_cycle_out():
    rng = np.random.default_rng(8)
    sums, lengths = rng.exponential(2.0, 30), rng.geometric(0.3, 30).astype(float)
    for i, pseudo_value in enumerate(jackknife(sums, lengths)):
        without = np.delete(sums, i).sum() / np.delete(lengths, i).sum()
        assert pseudo_value == pytest.approx(30 * sums.sum() / lengths.sum() - 29 * without, rel=1e-10)


def test_the_ends_solve_halls_equation():
    """g(T) = T + a T^2 / 3 + a^2 T^3 / 27 + a / 6 of either end is the quantile of t."""
    values = np.random.default_rng(9).lognormal(0.0, 1.5, 200)
    found, error = mean_interval(values, 0.9), stats.sem(values)
    a = float(stats.skew(values)) / math.sqrt(200)
    freedom = 2.0 * 200 / (float(stats.kurtosis(values, fisher=False)) - 1.0)
    for end, share in ((found.low, 0.95), (found.high, 0.05)):
        t = (values.mean() - end) / error
        transformed = t + a * t**2 / 3.0 + a**2 * t**3 / 27.0 + a / 6.0
        assert transformed == pytest.approx(stats.t.ppf(share, freedom), rel=1e-9)


def test_without_skewness_and_tails_it_is_the_t_interval():
    values = np.tile([1.0, 3.0], 10)
    found, simple = mean_interval(values, 0.9), t_interval(values, 0.9)
    assert (found.low, found.high) == pytest.approx((simple.low, simple.high), **EXACTLY)


def test_failures_mirror_successes():
    """A rate may be given as either; interval and flag are the same."""
    rng = np.random.default_rng(10)
    lengths = rng.geometric(0.3, 800)
    for probability, too_noisy in ((0.02, False), (0.001, True)):
        failures = rng.binomial(lengths, probability)
        few, many = regenerative(failures, lengths), regenerative(lengths - failures, lengths)
        assert (1.0 - many.high, 1.0 - many.low) == pytest.approx((few.low, few.high), rel=1e-9)
        assert few.too_noisy is many.too_noisy is too_noisy


@pytest.mark.parametrize("is_failure", [True, False])
def test_the_documented_minimum_is_where_the_flag_ends(is_failure):
    rng = np.random.default_rng(11)
    lengths = rng.geometric(0.5, MIN_CYCLES)
    sums = rng.exponential(1.0, MIN_CYCLES) * lengths
    assert not regenerative(sums, lengths).too_noisy
    assert regenerative(sums[1:], lengths[1:]).remark == f"{MIN_CYCLES - 1} cycles, {MIN_CYCLES} needed"
    for num_telling in (0, MIN_TELLING_CYCLES - 1, MIN_TELLING_CYCLES):
        events = np.arange(MIN_CYCLES) < num_telling
        sums = events if is_failure else lengths - events
        assert regenerative(sums, lengths).too_noisy is (num_telling < MIN_TELLING_CYCLES)


# --- Cycles of a queue, measured --------------------------------------------------------------------------


class Queue(NamedTuple):
    """M/H2/1 with rates 8 and 2 per s; the mean and the law of the sojourn time are known."""

    arrivals_per_s: float
    fast_share: float

    @property
    def load(self) -> float:
        return self.arrivals_per_s * (self.fast_share / 8.0 + (1.0 - self.fast_share) / 2.0)

    @property
    def mean_s(self) -> float:
        square_s2 = 2.0 * (self.fast_share / 64.0 + (1.0 - self.fast_share) / 4.0)
        waits_s = self.arrivals_per_s * square_s2 / (2.0 * (1.0 - self.load))
        return self.load / self.arrivals_per_s + waits_s

    def success_rate(self, deadline_s: float) -> float:
        mixed, rate = 2.0 + 6.0 * self.fast_share, self.arrivals_per_s
        one, two = np.roots([1.0, 10.0 - rate, mixed * rate + 16.0 - 10.0 * rate])
        parts = (
            sign * (1.0 - self.load) * (mixed * s + 16.0) * np.exp(s * deadline_s) / ((one - two) * s)
            for sign, s in ((1.0, one), (-1.0, two))
        )
        return float(1.0 + sum(parts))

    def runs(self, seed: int, num_runs: int, num_cycles: int, success_rates: list[float]) -> tuple:
        """Sums of the sojourn time and of the successes at each rate's deadline, and lengths, run by run."""
        rng, count = np.random.default_rng(seed), int(1.05 * num_runs * num_cycles / (1.0 - self.load))
        services_s = rng.standard_exponential(count) / np.where(rng.random(count) < self.fast_share, 8.0, 2.0)
        waits_s = waiting_s(np.cumsum(rng.exponential(1.0 / self.arrivals_per_s, count)), services_s)
        sojourns_s = waits_s + services_s
        deadlines_s = [brentq(lambda t, r=r: self.success_rate(t) - r, 0.0, 99.0) for r in success_rates]
        values = [sojourns_s, *(sojourns_s <= deadline_s for deadline_s in deadlines_s)]
        sums, lengths = cycles(waits_s == 0.0, np.stack(values, axis=1))
        cut = num_runs * num_cycles
        assert len(lengths) >= cut
        return sums[:cut].reshape(num_runs, num_cycles, -1), lengths[:cut].reshape(num_runs, num_cycles)


def plain(sums: np.ndarray, lengths: np.ndarray) -> Interval:
    """The textbook's: linearised ratio and t."""
    ratio = sums.sum() / lengths.sum()
    return t_interval(ratio + (sums - ratio * lengths) / lengths.mean())


@pytest.mark.parametrize(
    ("num_cycles", "arrivals_per_s", "fast_share"),
    [(MIN_CYCLES, 2.0, 0.9), (MIN_CYCLES, 2.0, 0.3), (MIN_CYCLES, 2.8, 0.5), (2000, 2.0, 0.3)],
)
def test_regenerative_intervals_cover_from_the_minimum_on(arrivals_per_s, fast_share, num_cycles):
    queue = Queue(arrivals_per_s, fast_share)
    sums, lengths = queue.runs(12, 500, num_cycles, [0.9, 0.97])
    for column, truth in enumerate((queue.mean_s, 0.9, 0.97)):
        pairs = [(run[:, column], packets) for run, packets in zip(sums, lengths, strict=True)]
        found = [regenerative(*pair) for pair in pairs]
        silent_misses = [not i.too_noisy and not i.contains(truth) for i in found]
        assert measured(silent_misses).low <= 0.07
        if sum(i.too_noisy for i in found) < 250:
            assert covers([i.contains(truth) for i in found if not i.too_noisy])
        if num_cycles == MIN_CYCLES and fast_share < 0.9:
            assert not covers([plain(*pair).contains(truth) for pair in pairs])


def test_below_the_minimum_it_says_too_noisy():
    """At load 0.775 and 200 cycles the textbook covers about 76 % and says nothing."""
    queue = Queue(2.0, 0.3)
    sums, lengths = queue.runs(13, 500, 200, [0.9])
    runs = list(zip(sums, lengths, strict=True))
    assert all(i.too_noisy for run, packets in runs for i in regenerative_each(run, packets))
    assert covers([plain(run[:, 0], packets).contains(queue.mean_s) for run, packets in runs], 0.76, 0.76)


def test_families_of_points_err_at_most_five_percent():
    """Ten success rates from one run, and each from a run of its own; 95 % for each alone must be caught."""
    queue, success_rates = Queue(2.0, 0.7), [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.83, 0.86, 0.88]
    num_families, num_points = 150, len(success_rates)
    sums, lengths = queue.runs(14, num_families * num_points, MIN_CYCLES, success_rates)

    def share_with_a_miss(level: float, own_runs: bool) -> Interval:
        families = []
        for family in range(num_families):
            runs = [num_points * family + own_runs * point for point in range(num_points)]
            found = [
                regenerative(sums[run, :, 1 + point], lengths[run], level) for point, run in enumerate(runs)
            ]
            assert sum(interval.too_noisy for interval in found) <= 1
            pairs = zip(found, success_rates, strict=True)
            families.append(any(not i.too_noisy and not i.contains(rate) for i, rate in pairs))
        return measured(families)

    assert share_with_a_miss(familywise(num_points), own_runs=False).low <= 0.05
    assert share_with_a_miss(familywise(num_points), own_runs=True).low <= 0.05
    assert share_with_a_miss(0.95, own_runs=True).low > 0.05


# --- Bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: t_interval([1.0]), "at least 2 finite"),
        (lambda: t_interval([1.0, math.nan]), "at least 2 finite"),
        (lambda: t_interval([1.0, 2.0], level=95.0), "between 0 and 1"),
        (lambda: paired_difference([1.0, 2.0], [1.0, 2.0, 3.0]), "cannot be paired"),
        (lambda: batch_means(np.arange(40.0)), "at least 80 finite"),
        (lambda: batch_means(np.arange(100.0), warm_up=70), "longer run"),
        (lambda: batch_means(np.arange(100.0), warm_up=-1), "a warm-up of 0 or more"),
        (lambda: batch_means(np.arange(100.0), num_batches=1), "2 batches"),
        (lambda: cycles(np.array([0, 1, 1]), np.ones(3)), "booleans"),
        (lambda: cycles(np.array([True, True]), np.ones(3)), "booleans"),
        (lambda: regenerative([1.0, 2.0], [1, 2, 3]), "2 sums and 3 lengths"),
        (lambda: regenerative([1.0, 2.0], [1, 0]), "one packet"),
        (lambda: regenerative(np.ones((3, 2)), [1, 1, 1]), "one axis"),
        (lambda: regenerative_each([1.0, 2.0], [1, 2]), r"\(cycles, quantities\)"),
        (lambda: binomial(3, 2), "3 successes in 2 trials"),
        (lambda: binomial(0, 0), "0 trials"),
        (lambda: binomial(1, 2, level=1.0), "between 0 and 1"),
        (lambda: familywise(0), "0 points"),
        (lambda: binomial(1, 2).verdict(math.nan), "must be a number"),
        (lambda: binomial(1, 2).verdict(0.5, margin=0.0), "margin positive"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
