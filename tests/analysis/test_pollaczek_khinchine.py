"""Mean delays of M/G/1 against special cases, and against the chain of the numbers left behind."""

import math

import numpy as np
import pytest

from analysis.closed_forms.pollaczek_khinchine import PollaczekKhinchine

EXACTLY = {"rel": 1e-12, "abs": 0.0}


def test_by_hand():
    """`rho = 0.6`; wait 3 x 0.07 / 0.8."""
    queue = PollaczekKhinchine(arrival_rate_per_s=3.0, mean_service_s=0.2, mean_square_service_s2=0.07)
    assert queue.load == pytest.approx(0.6, **EXACTLY)
    assert queue.mean_waiting_s == pytest.approx(0.2625, **EXACTLY)
    assert queue.mean_sojourn_s == pytest.approx(0.4625, **EXACTLY)


@pytest.mark.parametrize("load", [0.01, 0.5, 0.95])
def test_exponential_service_is_mm1(load):
    rate_per_s = 5.0
    queue = PollaczekKhinchine(
        arrival_rate_per_s=load * rate_per_s,
        mean_service_s=1.0 / rate_per_s,
        mean_square_service_s2=2.0 / rate_per_s**2,
    )
    assert queue.mean_sojourn_s == pytest.approx(1.0 / (rate_per_s - load * rate_per_s), **EXACTLY)
    assert queue.mean_waiting_s == pytest.approx(load * queue.mean_sojourn_s, **EXACTLY)


def test_equal_services_wait_half_as_long_as_exponential_ones():
    fixed, exponential = (
        PollaczekKhinchine(arrival_rate_per_s=2.0, mean_service_s=0.3, mean_square_service_s2=square_s2)
        for square_s2 in (0.3**2, 2.0 * 0.3**2)
    )
    assert fixed.mean_waiting_s == pytest.approx(0.5 * exponential.mean_waiting_s, **EXACTLY)


def test_two_service_times_by_the_chain_of_departures():
    """Little's law on the equilibrium of the number left behind, solved as a linear system."""
    rate_per_s, services_s, shares = 2.0, (0.1, 0.5), (0.4, 0.6)
    size = 200
    counts = np.arange(size)
    log_factorials = np.array([math.lgamma(n + 1.0) for n in counts])
    arrivals = sum(
        share * np.exp(-rate_per_s * s + counts * math.log(rate_per_s * s) - log_factorials)
        for share, s in zip(shares, services_s, strict=True)
    )
    steps = np.zeros((size, size))
    for left in range(size):
        first = max(left - 1, 0)
        steps[left, first:] = arrivals[: size - first]
    balance = np.vstack([steps.T - np.eye(size), np.ones(size)])
    shares_left = np.linalg.lstsq(balance, np.append(np.zeros(size), 1.0))[0]
    expected_s = counts @ shares_left / rate_per_s
    queue = PollaczekKhinchine(
        arrival_rate_per_s=rate_per_s,
        mean_service_s=sum(p * s for p, s in zip(shares, services_s, strict=True)),
        mean_square_service_s2=sum(p * s**2 for p, s in zip(shares, services_s, strict=True)),
    )
    assert queue.mean_sojourn_s == pytest.approx(expected_s, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((4.0, 0.25, 0.2), r"rho = 1, .*fewer arrivals"),
        ((5.0, 0.25, 0.2), r"rho = 1\.25"),
        ((0.0, 0.25, 0.2), r"arrival_rate_per_s = 0\.0 must be above zero"),
        ((math.nan, 0.25, 0.2), "arrival_rate_per_s = nan"),
        ((1.0, -0.25, 0.2), r"mean_service_s = -0\.25"),
        ((1.0, 0.25, math.inf), "mean_square_service_s2 = inf"),
        ((1.0, 0.5, 0.2), "negative variance"),
    ],
)
def test_bad_input(values, message):
    rate_per_s, mean_s, square_s2 = values
    with pytest.raises(ValueError, match=message):
        PollaczekKhinchine(
            arrival_rate_per_s=rate_per_s, mean_service_s=mean_s, mean_square_service_s2=square_s2
        )
