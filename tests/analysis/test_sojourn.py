"""Theorem 2 of the VHFL paper against its transform inverted numerically, in many digits, and against M/M/1.

The oracles are eq. 66 with eq. 67, inverted along Talbot's contour, and eqs. 25 and 26 as printed, in 60
digits so that their cancellation does not matter.
"""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from analysis.closed_forms.pollaczek_khinchine import PollaczekKhinchine
from analysis.closed_forms.sojourn import Sojourn

EXACTLY = {"rel": 1e-12, "abs": 0.0}

PAPER_LOADS = [
    Sojourn(arrival_rate_per_s=2.0, weights=(a1, 1.0 - a1), rates_per_s=(8.0, 2.0))
    for a1 in (0.9, 0.7, 0.5, 0.3, 1.0 / 15.0)
]
"""Fig. 7's rates; rho is 0.325, 0.475, 0.625, 0.775 and 0.95."""

OTHERS = [
    Sojourn(arrival_rate_per_s=5.0, weights=(0.98, 0.02), rates_per_s=(20.0, 0.4)),
    Sojourn(arrival_rate_per_s=0.01, weights=(0.5, 0.5), rates_per_s=(3.0, 0.5)),
    Sojourn(arrival_rate_per_s=0.9, weights=(0.0, 1.0), rates_per_s=(5.0, 1.0)),
    Sojourn(arrival_rate_per_s=2.0, weights=(1.0, 0.0), rates_per_s=(5.0, 1.0)),
    Sojourn(arrival_rate_per_s=3.0, weights=(0.4, 0.6), rates_per_s=(4.0, 4.0)),
]

laws = pytest.mark.parametrize("law", PAPER_LOADS + OTHERS, ids=str)

NEARLY_EQUAL = [
    Sojourn(arrival_rate_per_s=6.0 * drift, weights=(1.0 - a2, a2), rates_per_s=(8.0, 2.0))
    for a2 in (0.0, 1e-300, 1e-30, 1e-16, 1e-12, 1e-6)
    for drift in (1.0 - 1e-6, 1.0 - 1e-13, 1.0, 1.0 + 1e-15, 1.0 + 1e-7)
]
"""alpha_1 near 1 and lambda near mu_1 - mu_2; alpha_2 = 1e-30 keeps its digits because it is given itself."""

HEAVY = [
    Sojourn(arrival_rate_per_s=load * 3.2, weights=(0.5, 0.5), rates_per_s=(8.0, 2.0))
    for load in (0.999, 0.999999)
]
UNLIKE = [
    Sojourn(arrival_rate_per_s=0.5, weights=(1.0 - a2, a2), rates_per_s=(1e6, 1.0))
    for a2 in (1e-9, 0.5, 1.0 - 1e-9)
]


def transform(law, s):
    """D(s), eq. 66 with eq. 67, and W(s), the same without the packet's own service."""
    (a1, a2), (m1, m2) = map(mpmath.mpf, law.weights), map(mpmath.mpf, law.rates_per_s)
    arrivals, a1 = mpmath.mpf(law.arrival_rate_per_s), 1 - a2
    service = a1 * m1 / (s + m1) + a2 * m2 / (s + m2)
    wait = (1 - arrivals * (a1 / m1 + a2 / m2)) * s / (s - arrivals + arrivals * service)
    return service * wait, wait


def inverted(function, time_s):
    with mpmath.workdps(30):
        return float(mpmath.invertlaplace(function, mpmath.mpf(time_s), method="talbot"))


def theorem_2(law, time_s):
    """`gamma` and 1 - gamma as eqs. 25 and 26 print them; equal roots are parted by 1e-18."""
    with mpmath.workdps(60):
        (a1, a2), (m1, m2) = map(mpmath.mpf, law.weights), map(mpmath.mpf, law.rates_per_s)
        arrivals, a1 = mpmath.mpf(law.arrival_rate_per_s), 1 - a2
        mixed, load = a1 * m1 + a2 * m2, arrivals * (a1 / m1 + a2 / m2)
        under_root = (
            m1**2 + m2**2 + arrivals**2 - 2 * m1 * m2 + 2 * arrivals * (m1 + m2) - 4 * mixed * arrivals
        )
        root = mpmath.sqrt(max(under_root, mpmath.mpf("1e-36")))
        s1, s2 = (arrivals - m1 - m2 + root) / 2, (arrivals - m1 - m2 - root) / 2
        first, second = (
            (1 - load) * (mixed * s + m1 * m2) / ((s1 - s2) * s) * mpmath.exp(s * time_s) for s in (s1, s2)
        )
        return float(1 + first - second), float(second - first)


def times_s(law):
    """From short to where about 1e-9 fails."""
    return [x * law.mean_s for x in (1e-3, 0.1, 0.7, 1.0, 3.0, 20.0)]


# --- The law ----------------------------------------------------------------------------------------------


def test_the_loads_are_those_of_the_figure():
    assert [law.load for law in PAPER_LOADS] == pytest.approx([0.325, 0.475, 0.625, 0.775, 0.95], **EXACTLY)


@laws
def test_success_and_failure_rate_invert_the_transform(law):
    for time_s in times_s(law):
        success = inverted(lambda s: transform(law, s)[0] / s, time_s)
        failure = inverted(lambda s: (1 - transform(law, s)[0]) / s, time_s)
        assert law.success_rate(time_s) == pytest.approx(success, rel=1e-9, abs=0.0)
        assert law.failure_rate(time_s) == pytest.approx(failure, rel=1e-9, abs=0.0)


@laws
def test_density_inverts_the_transform(law):
    for time_s in times_s(law):
        expected_per_s = inverted(lambda s: transform(law, s)[0], time_s)
        assert law.density_per_s(time_s) == pytest.approx(expected_per_s, rel=1e-9, abs=0.0)


@laws
def test_the_wait_before_service_inverts_its_transform(law):
    for time_s in times_s(law):
        expected = inverted(lambda s: transform(law, s)[1] / s, time_s)
        assert law.success_rate_before_service(time_s) == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert law.success_rate_before_service(0.0) == pytest.approx(1.0 - law.load, **EXACTLY)
    assert law.success_rate_before_service(-1e-9) == 0.0


@laws
def test_a_sojourn_is_a_wait_and_a_service(law):
    """P(sojourn <= t) = E[P(wait <= t - service)], by quadrature."""
    for time_s in (0.3 * law.mean_s, 2.0 * law.mean_s):
        expected = sum(
            weight
            * quad(
                lambda x, r=rate, t=time_s: r * math.exp(-r * x) * law.success_rate_before_service(t - x),
                0.0,
                time_s,
                epsabs=1e-12,
                epsrel=1e-11,
                limit=200,
            )[0]
            for weight, rate in zip(law.weights, law.rates_per_s, strict=True)
        )
        assert law.success_rate(time_s) == pytest.approx(expected, rel=1e-9)


@laws
def test_density_is_the_derivative(law):
    low_s, high_s = 0.2 * law.mean_s, 3.0 * law.mean_s
    found = quad(law.density_per_s, low_s, high_s, epsabs=0.0, epsrel=1e-12)[0]
    assert law.success_rate(high_s) - law.success_rate(low_s) == pytest.approx(found, rel=1e-11)


@laws
def test_mean_is_pollaczek_khinchine_and_the_area_under_the_failure_rate(law):
    moments = [sum(a * k / m**k for a, m in zip(law.weights, law.rates_per_s, strict=True)) for k in (1, 2)]
    expected = PollaczekKhinchine(
        arrival_rate_per_s=law.arrival_rate_per_s,
        mean_service_s=moments[0],
        mean_square_service_s2=moments[1],
    )
    assert law.mean_s == pytest.approx(expected.mean_sojourn_s, rel=1e-11)
    area_s = quad(law.failure_rate, 0.0, 60.0 * law.mean_s, epsabs=0.0, epsrel=1e-11, limit=400)[0]
    assert area_s == pytest.approx(law.mean_s, rel=1e-9)


# --- Digits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", PAPER_LOADS + OTHERS + NEARLY_EQUAL + HEAVY + UNLIKE, ids=str)
@pytest.mark.parametrize("relative_time", [1e-12, 1e-6, 0.1, 1.0, 10.0, 30.0])
def test_no_digits_are_lost(law, relative_time):
    """Against eq. 25 in 60 digits; 1 - rho alone may lose some, and its rounding stays in the exponent."""
    time_s = relative_time * law.mean_s
    success, failure = theorem_2(law, time_s)
    rounding = 3e-15 * (1.0 + relative_time) / (1.0 - law.load)
    assert law.success_rate(time_s) == pytest.approx(success, rel=rounding, abs=0.0)
    assert law.failure_rate(time_s) == pytest.approx(failure, rel=rounding, abs=0.0)


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0), (0.3, 0.7)])
@pytest.mark.parametrize("arrival_rate_per_s", [0.1, 3.0, 3.9])
def test_equal_rates_are_mm1(weights, arrival_rate_per_s):
    law = Sojourn(arrival_rate_per_s=arrival_rate_per_s, weights=weights, rates_per_s=(4.0, 4.0))
    idle_per_s = 4.0 - arrival_rate_per_s
    time_s = np.array([0.0, 1e-9, 0.3, 1.0, 20.0])
    np.testing.assert_allclose(law.success_rate(time_s), -np.expm1(-idle_per_s * time_s), rtol=1e-12)
    np.testing.assert_allclose(law.failure_rate(time_s), np.exp(-idle_per_s * time_s), rtol=1e-12)
    np.testing.assert_allclose(
        law.density_per_s(time_s), idle_per_s * np.exp(-idle_per_s * time_s), rtol=1e-12
    )
    waits = 1.0 - arrival_rate_per_s / 4.0 * np.exp(-idle_per_s * time_s)
    np.testing.assert_allclose(law.success_rate_before_service(time_s), waits, rtol=1e-12)
    assert law.mean_s == pytest.approx(1.0 / idle_per_s, **EXACTLY)
    assert law.waiting_time_s(0.95) == pytest.approx(math.log(20.0) / idle_per_s, **EXACTLY)


@pytest.mark.parametrize(
    ("weights", "arrival_rate_per_s", "idle_per_s"),
    [((1.0, 0.0), 6.0, 2.0), ((1.0, 0.0), 5.0, 3.0), ((1.0, 0.0), 7.0, 1.0), ((0.0, 1.0), 1.5, 0.5)],
)
def test_one_stage_is_mm1(weights, arrival_rate_per_s, idle_per_s):
    """The first has equal roots."""
    law = Sojourn(arrival_rate_per_s=arrival_rate_per_s, weights=weights, rates_per_s=(8.0, 2.0))
    time_s = np.array([0.0, 1e-9, 0.3, 1.0, 20.0])
    np.testing.assert_allclose(law.success_rate(time_s), -np.expm1(-idle_per_s * time_s), rtol=1e-12)
    np.testing.assert_allclose(law.failure_rate(time_s), np.exp(-idle_per_s * time_s), rtol=1e-12)
    waits = 1.0 - law.load * np.exp(-idle_per_s * time_s)
    np.testing.assert_allclose(law.success_rate_before_service(time_s), waits, rtol=1e-12)
    assert law.mean_s == pytest.approx(1.0 / idle_per_s, **EXACTLY)


def test_a_load_just_below_one_still_has_a_law():
    """Its digits are few, but the slow root is below zero and the deadlines are what they must be."""
    rng = np.random.default_rng(1)
    for a1, fast_per_s in zip(rng.random(200), 3.8 * 10.0 ** rng.uniform(0.0, 4.0, 200), strict=True):
        almost_per_s = math.nextafter(1.0 / (a1 / fast_per_s + (1.0 - a1) / 3.8), 0.0)
        law = Sojourn(
            arrival_rate_per_s=math.nextafter(almost_per_s, 0.0),
            weights=(a1, 1.0 - a1),
            rates_per_s=(fast_per_s, 3.8),
        )
        assert 0.0 < 1.0 - law.load < 1e-15
        assert law.roots_per_s[0] < 0.0
        assert law.waiting_time_s(0.5) == pytest.approx(math.log(2.0) * law.mean_s, rel=1e-9)


@laws
def test_roots_are_the_zeros_of_the_denominator(law):
    """Sum and product by Vieta, and the order that the docstring claims."""
    s1, s2 = law.roots_per_s
    m1, m2 = law.rates_per_s
    assert s1 + s2 == pytest.approx(law.arrival_rate_per_s - m1 - m2, **EXACTLY)
    assert s1 * s2 == pytest.approx(m1 * m2 * (1.0 - law.load), **EXACTLY)
    assert -m1 * (1.0 + 1e-15) <= s2 <= -m2 <= s1 * (1.0 - 1e-15) < 0.0


def test_shapes_follow_the_argument():
    law = PAPER_LOADS[0]
    grid_s = np.array([[0.0, 0.5, 1.0], [2.0, 4.0, math.inf]])
    for method in (law.success_rate, law.failure_rate, law.density_per_s, law.success_rate_before_service):
        found = method(grid_s)
        assert found.shape == grid_s.shape
        assert [method(float(time_s)) for time_s in grid_s.flat] == list(found.flat)
        assert isinstance(method(1), float)
    assert law.success_rate([-1.0, 0.0, math.inf]).tolist() == [0.0, 0.0, 1.0]
    assert law.failure_rate([-1.0, 0.0, math.inf]).tolist() == [1.0, 1.0, 0.0]
    assert law.density_per_s([-1e-9, math.inf]).tolist() == [0.0, 0.0]
    assert math.isnan(law.success_rate(math.nan))


# --- The deadline -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", PAPER_LOADS + OTHERS + NEARLY_EQUAL[:7] + UNLIKE, ids=str)
@pytest.mark.parametrize("success_rate", [1e-12, 0.01, 0.4999, 0.5, 0.9, 0.999, 1.0 - 1e-9])
def test_the_deadline_of_a_success_rate(law, success_rate):
    time_s = law.waiting_time_s(success_rate)
    assert law.success_rate(time_s) == pytest.approx(success_rate, rel=1e-10, abs=0.0)
    assert law.failure_rate(time_s) == pytest.approx(1.0 - success_rate, rel=1e-10, abs=0.0)


@laws
@pytest.mark.parametrize("relative_time", [1e-9, 0.2, 1.0, 10.0])
def test_the_success_rate_of_a_deadline_gives_it_back(law, relative_time):
    """Up to the rounding of a success rate near 1."""
    time_s = relative_time * law.mean_s
    gamma = float(law.success_rate(time_s))
    rounding = 2e-16 / float(law.density_per_s(time_s)) / time_s
    assert law.waiting_time_s(gamma) == pytest.approx(time_s, rel=max(1e-10, rounding))


@pytest.mark.parametrize("success_rate", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_success_rate_that_no_deadline_reaches(success_rate):
    with pytest.raises(ValueError, match=r"not reachable.*K / K_0"):
        PAPER_LOADS[0].waiting_time_s(success_rate)


# --- Laws -------------------------------------------------------------------------------------------------

rates = st.floats(1e-3, 1e3)
shares = st.floats(0.0, 1.0)


def law_of(load, a1, one_per_s, two_per_s):
    fast_per_s, slow_per_s = max(one_per_s, two_per_s), min(one_per_s, two_per_s)
    arrival_rate_per_s = load / (a1 / fast_per_s + (1.0 - a1) / slow_per_s)
    return Sojourn(
        arrival_rate_per_s=arrival_rate_per_s, weights=(a1, 1.0 - a1), rates_per_s=(fast_per_s, slow_per_s)
    )


@given(load=st.floats(1e-3, 0.999), a1=shares, one_per_s=rates, two_per_s=rates)
@settings(max_examples=150)
def test_success_grows_from_zero_to_one(load, a1, one_per_s, two_per_s):
    law = law_of(load, a1, one_per_s, two_per_s)
    time_s = np.concatenate([[0.0], law.mean_s * np.geomspace(1e-9, 1e3, 100), [math.inf]])
    gamma, failing = law.success_rate(time_s), law.failure_rate(time_s)
    assert gamma[0] == 0.0 == failing[-1]
    assert gamma[-1] == 1.0 == failing[0]
    assert np.all(np.diff(gamma) >= 0.0)
    assert np.all(np.diff(failing) <= 0.0)
    np.testing.assert_allclose(gamma + failing, 1.0, rtol=3e-15)
    assert np.all(law.density_per_s(time_s) >= 0.0)
    assert np.all(law.success_rate_before_service(time_s) >= gamma * (1.0 - 1e-12))


@given(
    load=st.floats(1e-3, 0.99),
    more=st.floats(1.0, 2.0),
    a1=shares,
    one_per_s=rates,
    two_per_s=rates,
    x=st.floats(1e-3, 100.0),
)
@settings(max_examples=150)
def test_more_load_is_never_better(load, more, a1, one_per_s, two_per_s, x):
    """More arrivals; and more packets in the slow stage."""
    assume(load * more < 0.995)
    law = law_of(load, a1, one_per_s, two_per_s)
    busier = law_of(load * more, a1, one_per_s, two_per_s)
    for time_s in (1e-3 * x * law.mean_s, x * law.mean_s):
        assert busier.success_rate(time_s) <= law.success_rate(time_s) * (1.0 + 1e-11)
        assert busier.failure_rate(time_s) >= law.failure_rate(time_s) * (1.0 - 1e-11 * (1.0 + x))
    slower = law_of(0.5, a1 / more, one_per_s, two_per_s)
    if slower.arrival_rate_per_s > 0.0:
        quicker = Sojourn(
            arrival_rate_per_s=slower.arrival_rate_per_s,
            weights=(a1, 1.0 - a1),
            rates_per_s=slower.rates_per_s,
        )
        assert quicker.success_rate(x) >= slower.success_rate(x) * (1.0 - 1e-11)


@given(a2=st.floats(0.0, 1e-3), factor=st.floats(0.999, 1.001), one_per_s=rates, two_per_s=rates)
@example(a2=5e-324, factor=0.999, one_per_s=1.0, two_per_s=0.375)
@settings(max_examples=150)
def test_no_digits_are_lost_between_nearly_equal_roots(a2, factor, one_per_s, two_per_s):
    fast_per_s, slow_per_s = max(one_per_s, two_per_s), min(one_per_s, two_per_s)
    arrival_rate_per_s = factor * (fast_per_s - slow_per_s)
    load = arrival_rate_per_s * ((1.0 - a2) / fast_per_s + a2 / slow_per_s)
    assume(arrival_rate_per_s > 1e-9 and load < 0.99)
    law = Sojourn(
        arrival_rate_per_s=arrival_rate_per_s, weights=(1.0 - a2, a2), rates_per_s=(fast_per_s, slow_per_s)
    )
    for relative_time in (0.01, 1.0, 5.0):
        success, failure = theorem_2(law, relative_time * law.mean_s)
        assert law.success_rate(relative_time * law.mean_s) == pytest.approx(success, rel=1e-11, abs=0.0)
        assert law.failure_rate(relative_time * law.mean_s) == pytest.approx(failure, rel=1e-11, abs=0.0)


# --- Bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rates_per_s": (2.0, 8.0)}, "faster rate comes first.*Swap"),
        ({"weights": (0.5, 0.6)}, r"weights = \(0\.5, 0\.6\) must sum to 1"),
        ({"weights": (1.5, -0.5)}, "two probabilities"),
        ({"weights": (math.nan, 1.0)}, "two probabilities"),
        ({"weights": (1.0,)}, "two probabilities"),
        ({"rates_per_s": (8.0, 0.0)}, "two rates above zero"),
        ({"rates_per_s": (math.inf, 2.0)}, "two rates above zero and finite"),
        ({"rates_per_s": (8.0, 4.0, 2.0)}, "two rates"),
        ({"arrival_rate_per_s": 0.0}, "arrival_rate_per_s = 0.0 must be above zero"),
        ({"arrival_rate_per_s": math.inf}, "above zero and finite"),
        ({"arrival_rate_per_s": 3.2}, "rho = 1,.*fewer arrivals"),
        ({"arrival_rate_per_s": 4.0}, r"rho = 1\.25"),
    ],
)
def test_bad_input(changes, message):
    good = {"arrival_rate_per_s": 2.0, "weights": (0.5, 0.5), "rates_per_s": (8.0, 2.0)}
    with pytest.raises(ValueError, match=message):
        Sojourn(**(good | changes))
