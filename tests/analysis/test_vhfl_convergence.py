"""Theorem 1 of the VHFL paper by hand, in its limits, and against the recursion from which it is derived."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.closed_forms.vhfl_convergence import VhflBound

EXACTLY = {"rel": 1e-12, "abs": 0.0}

BOUND = VhflBound(
    smoothness=2.0,
    pl_constant=0.5,
    client_variance=12.0,
    central_variance=0.75,
    square_gradient=1.5,
    non_iid_extent=1.25,
    num_local_epochs=4,
    num_uploads=6,
    initial_gap=3.0,
    initial_gradient_ratio=8.0,
)
"""[X] = 4 x 0.75 + 12/6 (1/4 + 0.5) + 0.5 x 4 x 1.5 = 3 + 1.5 + 3 = 7.5."""


# --- By hand ----------------------------------------------------------------------------------------------


def test_noise_by_hand():
    assert BOUND.noise == pytest.approx(7.5, **EXACTLY)


def test_not_convex_by_hand():
    """T_g = 9: 2 x 3 / (3 x 2) + 2 x 2 / 3 x 7.5 = 1 + 10."""
    assert BOUND.mean_square_gradient(9) == pytest.approx(11.0, **EXACTLY)


def test_convex_by_hand():
    """T_g = 10: 4 / (10 x 0.25) (7.5 + 8 x 1.5 / 16) = 1.6 x 8.25."""
    assert BOUND.loss_gap(10) == pytest.approx(13.2, **EXACTLY)


def test_lost_uploads_by_hand():
    """`gamma = 0.75`: 4.5 uploads, so 12/4.5 x 0.75 = 2 in place of 1.5."""
    lossy = attrs.evolve(BOUND, success_rate=0.75)
    assert lossy.num_uploads_in_time == pytest.approx(4.5, **EXACTLY)
    assert lossy.mean_square_gradient(9) == pytest.approx(1.0 + 4.0 / 3.0 * 8.0, **EXACTLY)
    assert lossy.loss_gap(10) == pytest.approx(1.6 * 8.75, **EXACTLY)


def test_derived_bound_by_hand():
    """2 L E_l / mu = 32, so l_0 = 31; 4 M / mu^2 = 32 / 0.5 x 7.5 = 480 and 32 x 3 = 96 for Delta_1."""
    assert BOUND.derived_loss_gap(10) == pytest.approx(480.0 / 71.0, **EXACTLY)
    far = attrs.evolve(BOUND, initial_gap=20.0)
    assert far.derived_loss_gap(10) == pytest.approx(640.0 / 71.0, **EXACTLY)


# --- Limits -----------------------------------------------------------------------------------------------


def test_equal_clients_do_not_diverge():
    """With lambda = 1 neither G^2 nor L is left in [X]."""
    equal = attrs.evolve(BOUND, non_iid_extent=1.0)
    assert equal.noise == pytest.approx(3.0 + 12.0 / (6 * 4), **EXACTLY)
    assert attrs.evolve(equal, square_gradient=100.0, smoothness=50.0).noise == equal.noise


def test_many_uploads_leave_the_central_noise_and_the_divergence():
    many = attrs.evolve(BOUND, num_uploads=10**12)
    assert many.noise == pytest.approx(3.0 + 3.0, rel=1e-11)
    assert many.mean_square_gradient(9) == pytest.approx(1.0 + 8.0, rel=1e-11)
    assert many.loss_gap(10) == pytest.approx(1.6 * 6.75, rel=1e-11)


def test_losing_uploads_is_sending_fewer():
    lossy, fewer = attrs.evolve(BOUND, success_rate=0.5), attrs.evolve(BOUND, num_uploads=3)
    assert lossy.mean_square_gradient(7) == fewer.mean_square_gradient(7)
    assert lossy.loss_gap(7) == fewer.loss_gap(7)
    assert lossy.derived_loss_gap(7) == fewer.derived_loss_gap(7)


def test_rates_in_the_number_of_global_epochs():
    assert BOUND.mean_square_gradient(400) == pytest.approx(BOUND.mean_square_gradient(4) / 10.0, **EXACTLY)
    assert BOUND.loss_gap(400) == pytest.approx(BOUND.loss_gap(4) / 100.0, **EXACTLY)
    assert BOUND.derived_loss_gap(1e12) == pytest.approx(480.0 / 4e12, rel=1e-10)


@given(
    num_local_epochs=st.integers(1, 30),
    num_uploads=st.integers(1, 100),
    success_rate=st.floats(0.01, 1.0),
    extent=st.floats(1.0, 20.0),
)
@settings(max_examples=100)
def test_longer_training_more_uploads_fewer_losses_and_more_alike_clients_help(
    num_local_epochs, num_uploads, success_rate, extent
):
    here = attrs.evolve(
        BOUND,
        num_local_epochs=num_local_epochs,
        num_uploads=num_uploads,
        success_rate=success_rate,
        non_iid_extent=extent,
    )
    worse = [
        attrs.evolve(here, success_rate=0.9 * success_rate),
        attrs.evolve(here, non_iid_extent=extent + 0.1),
    ]
    better = attrs.evolve(here, num_uploads=num_uploads + 1)
    for name in ("mean_square_gradient", "loss_gap"):
        assert np.all(np.diff(getattr(here, name)(np.arange(1, 50))) < 0.0)
        assert getattr(better, name)(5) < getattr(here, name)(5) < min(getattr(w, name)(5) for w in worse)


def test_shapes_follow_the_argument():
    grid = np.array([[1, 2], [3, 40]])
    for method in (BOUND.mean_square_gradient, BOUND.loss_gap, BOUND.derived_loss_gap):
        assert method(grid).shape == (2, 2)
        assert method(grid)[1, 1] == method(40)
        assert isinstance(method(40), float)


# --- The recursion of Appendix A --------------------------------------------------------------------------


def recursion(bound: VhflBound, start: float, offset: float, num_slots: int) -> np.ndarray:
    """Delta_1 to Delta_num_slots of eq. 53 with equality, M from eq. 52, steps 2 / (mu (t + l_0))."""
    clients = bound.client_variance / (bound.success_rate * bound.num_uploads)
    divergence = (bound.non_iid_extent - 1.0) * bound.smoothness
    in_slot = (
        bound.num_local_epochs * bound.central_variance
        + clients * (1.0 / bound.num_local_epochs + divergence)
        + divergence * bound.num_local_epochs * bound.square_gradient
    )
    noise = bound.smoothness * bound.num_local_epochs / 2.0 * in_slot
    gaps = [start]
    for t in range(1, num_slots):
        step = 2.0 / (bound.pl_constant * (t + offset))
        gaps.append((1.0 - bound.pl_constant * step) * gaps[-1] + step**2 * noise)
    return np.array(gaps)


@given(
    smoothness=st.floats(0.5, 20.0),
    condition=st.floats(1.0, 20.0),
    num_local_epochs=st.integers(1, 10),
    extent=st.floats(1.0, 5.0),
    gap=st.floats(0.0, 1e4),
    success_rate=st.floats(0.1, 1.0),
)
@settings(max_examples=100)
def test_the_recursion_stays_below_the_derived_bound(
    smoothness, condition, num_local_epochs, extent, gap, success_rate
):
    bound = attrs.evolve(
        BOUND,
        smoothness=smoothness,
        pl_constant=smoothness / condition,
        num_local_epochs=num_local_epochs,
        non_iid_extent=extent,
        initial_gap=gap,
        success_rate=success_rate,
    )
    offset = 2.0 * smoothness * num_local_epochs / bound.pl_constant - 1.0
    first_step = 2.0 / (bound.pl_constant * (1.0 + offset))
    assert num_local_epochs * first_step == pytest.approx(1.0 / smoothness)
    gaps = recursion(bound, gap, offset, 40 * num_local_epochs)
    starts = np.arange(1, 41)
    found = bound.derived_loss_gap(starts)
    assert np.all(gaps[num_local_epochs * starts - 1] <= found * (1.0 + 1e-12))


@pytest.mark.parametrize(("initial_gap", "num_global_epochs"), [(1e4, 1), (0.0, 10**4)])
def test_the_derived_bound_is_tight_at_its_start_or_its_end(initial_gap, num_global_epochs):
    """The first slot attains the bound where Delta_1 rules; the recursion comes near it where M rules."""
    bound = attrs.evolve(BOUND, initial_gap=initial_gap, num_local_epochs=1)
    gaps = recursion(bound, initial_gap, 2.0 * 2.0 / 0.5 - 1.0, num_global_epochs)
    assert gaps[-1] == pytest.approx(bound.derived_loss_gap(num_global_epochs), rel=0.1)


def test_the_printed_bound_is_the_recursions_with_no_offset():
    """Eq. 57 is eq. 56 with l_0 = 0 and Delta_1 = L f_0 G^2 / (2 mu^2): A over t, for t = E_l T_g."""
    start = 2.0 * 8.0 * 1.5 / (2.0 * 0.25)
    noise = 2.0 * 4.0 / 2.0 * 7.5
    printed = (4.0 * noise / 0.25 + start) / (4 * np.arange(1, 30))
    np.testing.assert_allclose(BOUND.loss_gap(np.arange(1, 30)), printed, rtol=1e-12)
    assert np.all(recursion(BOUND, start, 0.0, 200)[3::4][:29] <= printed)


def test_with_no_offset_the_induction_fails():
    """From the optimum with one local epoch, eq. 53 has 4 M / mu^2 after one slot, and eq. 57 half of it."""
    bound = attrs.evolve(BOUND, num_local_epochs=1, initial_gap=0.0, initial_gradient_ratio=0.0)
    assert recursion(bound, 0.0, 0.0, 2)[-1] == pytest.approx(2.0 * bound.loss_gap(2), **EXACTLY)


# --- Bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"smoothness": 0.0}, r"smoothness = 0\.0 must be above zero"),
        ({"pl_constant": 0.0}, "pl_constant = 0.0 must be above zero"),
        ({"pl_constant": 3.0}, "pl_constant = 3.0 must be above zero, at most L"),
        ({"client_variance": -1.0}, "client_variance = -1.0 must be not negative"),
        ({"central_variance": math.nan}, "central_variance = nan"),
        ({"square_gradient": math.inf}, "square_gradient = inf must be not negative, and finite"),
        ({"non_iid_extent": 0.9}, "non_iid_extent = 0.9 must be at least 1"),
        ({"num_local_epochs": 0}, "num_local_epochs = 0"),
        ({"num_uploads": 0}, "num_uploads = 0"),
        ({"initial_gap": -1.0}, "initial_gap = -1.0"),
        ({"initial_gradient_ratio": -1.0}, "initial_gradient_ratio = -1.0"),
        ({"success_rate": 0.0}, "success_rate = 0.0.*longer deadline"),
        ({"success_rate": 1.1}, "success_rate = 1.1 must be above zero, at most 1"),
    ],
)
def test_bad_symbols(changes, message):
    with pytest.raises(ValueError, match=message):
        attrs.evolve(BOUND, **changes)


@pytest.mark.parametrize("name", ["mean_square_gradient", "loss_gap", "derived_loss_gap"])
@pytest.mark.parametrize("num_global_epochs", [0, [3, 0], math.nan])
def test_no_bound_before_the_first_global_epoch(name, num_global_epochs):
    with pytest.raises(ValueError, match=r"num_global_epochs = .* at least 1"):
        getattr(BOUND, name)(num_global_epochs)
