"""Closed forms of uploads and barriers against brute force and quadrature that use none of their formulas."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from analysis.closed_forms.delays.barriers import EqualClients, UnequalClients
from analysis.closed_forms.delays.faded_upload import FadedUpload
from analysis.closed_forms.delays.started_together import StartedTogether
from analysis.closed_forms.delays.success_counts import SuccessCounts

CLOSELY = {"rel": 1e-9, "abs": 0.0}


# --- Started together -------------------------------------------------------------------------------------


@given(st.lists(st.fractions(Fraction(1, 100), 10, max_denominator=1000), min_size=1, max_size=9))
def test_ends_by_running_them_one_end_after_the_other(alone):
    """Exactly: each has what is left; until the next end all get the same."""
    left, now, ends = dict(enumerate(alone)), Fraction(0), {}
    while left:
        least = min(left.values())
        now += least * len(left)
        left = {who: rest - least for who, rest in left.items()}
        ends |= {who: now for who, rest in left.items() if rest == 0}
        left = {who: rest for who, rest in left.items() if rest > 0}
    found = StartedTogether(alone_s=map(float, alone)).ends_s
    assert found == pytest.approx([float(ends[who]) for who in range(len(alone))], rel=1e-12)


# --- Barriers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num", [1, 3, 8])
def test_the_first_of_equal_clients_by_quadrature(num):
    """The k-th has come unless fewer than k have, a binomial number."""
    theory = EqualClients(num_clients=8, mean_s=0.7, shift_s=0.25)

    def fewer(time_s):
        return float(stats.binom.cdf(num - 1, 8, -math.expm1(-time_s / 0.7)))

    mean_s = quad(fewer, 0.0, 60.0, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
    square_s2 = quad(lambda t: 2.0 * t * fewer(t), 0.0, 60.0, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
    assert theory.mean_of_first_s(num) == pytest.approx(0.25 + mean_s, **CLOSELY)
    assert theory.deviation_of_first_s(num) == pytest.approx(math.sqrt(square_s2 - mean_s**2), rel=1e-8)


def test_unequal_clients_by_quadrature():
    means_s = (0.4, 0.6, 1.0, 1.5, 3.0)
    theory = UnequalClients(means_s=means_s, shift_s=0.25)

    def not_all(time_s):
        return 1.0 - math.prod(-math.expm1(-time_s / mean_s) for mean_s in means_s)

    def none(time_s):
        return math.prod(math.exp(-time_s / mean_s) for mean_s in means_s)

    last_s, first_s = (
        quad(tail, 0.0, 120.0, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for tail in (not_all, none)
    )
    assert theory.mean_of_last_s == pytest.approx(0.25 + last_s, **CLOSELY)
    assert theory.mean_of_first_s == pytest.approx(0.25 + first_s, **CLOSELY)


def test_unequal_clients_that_are_equal_are_equal_clients():
    equal = EqualClients(num_clients=16, mean_s=0.7, shift_s=0.25)
    unequal = UnequalClients(means_s=(0.7,) * 16, shift_s=0.25)
    assert unequal.mean_of_last_s == pytest.approx(equal.mean_of_first_s(16), **CLOSELY)


# --- Fading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_antennas", [1, 2, 10])
@pytest.mark.parametrize("snr", [0.3, 4.0])
def test_faded_uploads_by_quadrature_over_the_gain(num_antennas, snr):
    theory = FadedUpload(
        payload_bits=1e6, bandwidth_hz=1.2e6, snr=snr, deadline_s=0.6, num_antennas=num_antennas
    )
    gains = stats.gamma(num_antennas)

    def upload_s(gain):
        return 1e6 / (1.2e6 * math.log2(1.0 + snr * gain))

    least = (2.0 ** (1e6 / (1.2e6 * 0.6)) - 1.0) / snr
    exact = {"epsabs": 1e-14, "epsrel": 1e-12, "limit": 400}
    arrives = quad(gains.pdf, least, 80.0, **exact)[0]
    in_time_s = quad(lambda gain: upload_s(gain) * gains.pdf(gain), least, 80.0, **exact)[0]
    assert theory.success_rate == pytest.approx(arrives, **CLOSELY)
    assert theory.mean_sending_s == pytest.approx(in_time_s + 0.6 * (1.0 - arrives), **CLOSELY)
    assert theory.arrives_within(1e-6) == 0.0
    failed = (1.0 - arrives) ** np.arange(20_000)
    attempts = np.arange(1, 20_001) @ (failed * arrives)
    whole_s = (failed * arrives) @ (np.arange(20_000) * 0.6 + in_time_s / arrives)
    if arrives > 1e-3:  # else the sums are too short
        assert theory.mean_attempts == pytest.approx(attempts, **CLOSELY)
        assert theory.mean_time_s == pytest.approx(whole_s, **CLOSELY)
        shares = [theory.share_of_attempts(num) for num in (1, 2, 5)]
        assert shares == pytest.approx((failed * arrives)[[0, 1, 4]], rel=1e-9, abs=1e-15)


# --- Counts -----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7))
def test_counts_by_enumeration(rates):
    theory = SuccessCounts(success_rates=rates)
    shares = np.zeros(len(rates) + 1)
    for outcome in product((0, 1), repeat=len(rates)):
        shares[sum(outcome)] += math.prod(
            p if arrived else 1.0 - p for p, arrived in zip(rates, outcome, strict=True)
        )
    counts = np.arange(len(rates) + 1)
    assert theory.shares == pytest.approx(shares, rel=1e-12, abs=1e-15)
    assert theory.mean_count == pytest.approx(counts @ shares, rel=1e-12, abs=1e-15)
    assert theory.variance == pytest.approx((counts - counts @ shares) ** 2 @ shares, rel=1e-9, abs=1e-12)


# --- Bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StartedTogether(alone_s=(1.0, 0.0)), "alone_s"),
        (lambda: EqualClients(num_clients=3, mean_s=1.0).mean_of_first_s(4), "the first 4 of 3"),
        (lambda: UnequalClients(means_s=(1.0,) * 17), "17 means"),
        (lambda: UnequalClients(means_s=()), "0 means"),
        (lambda: FadedUpload(payload_bits=1.0, bandwidth_hz=1.0, snr=-1.0, deadline_s=1.0), r"snr = -1\.0"),
        (lambda: SuccessCounts(success_rates=(0.5, 1.1)), r"success_rates = 1\.1"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
