"""Receive beams against closed forms, a grid, the certified bound, scipy's best of many starts, and laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from cosim.configuration import ConfigurationError
from cosim.radio.sharing import beamforming
from cosim.radio.sharing.beamforming import gains, receive_beams
from scenarios.validate.beamforming_bound import bound, quality, relaxation


def a_drop(seed: int, num_problems: int, num_clients: int, num_antennas: int, spread_db: float = 0.0):
    """Rayleigh channels of clients whose mean powers differ by up to the spread."""
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((2, num_problems, num_clients, num_antennas)) / math.sqrt(2.0)
    power_db = -rng.uniform(0.0, spread_db, (num_problems, num_clients, 1))
    return (parts[0] + 1j * parts[1]) * 10.0 ** (power_db / 20.0)


def gain_of(channels, beam) -> float:
    """min_i |a^H h_i|^2, one client after the other."""
    return min(
        abs(sum(a.conjugate() * h for a, h in zip(beam, client, strict=True))) ** 2 for client in channels
    )


def best_gain(channels, **options) -> float:
    """Value of receive_beams in one problem."""
    return gain_of(channels, receive_beams(channels[None], **options)[0])


# --- By hand ----------------------------------------------------------------------------------------------


def test_gains_by_hand():
    channels = np.array([[[1.0, 1.0j], [2.0, 0.0]], [[3.0j, 0.0], [0.0, 1.0]]])
    beams = np.array([[1.0, 1.0j], [1.0, -1.0j]]) / math.sqrt(2.0)
    # |1 + 1|^2 / 2 and 4 / 2; 9 / 2 and 1 / 2. Without the conjugate the first client of all would have 0.
    assert gains(channels, beams) == pytest.approx([2.0, 0.5], rel=1e-14)


def test_one_client_gets_its_matched_filter():
    channels = a_drop(1, 20, 1, 10)
    beams = receive_beams(channels)
    power = (np.abs(channels[:, 0]) ** 2).sum(axis=1)
    assert beams == pytest.approx(channels[:, 0] / np.sqrt(power)[:, None], rel=1e-13)
    assert gains(channels, beams) == pytest.approx(power, rel=1e-13)


def test_one_antenna_has_nothing_to_choose():
    channels = a_drop(2, 5, 7, 1, spread_db=30.0)
    beams = receive_beams(channels)
    assert np.array_equal(beams, np.ones((5, 1)))
    assert gains(channels, beams) == pytest.approx((np.abs(channels) ** 2).min(axis=(1, 2)), rel=1e-13)


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (1.0, 3.0), (2.0, 500.0), (1e-6, 1e3)])
def test_two_orthogonal_clients(first, second):
    """|a_1|^2 g_1 = |a_2|^2 g_2 with |a_1|^2 + |a_2|^2 = 1: both have g_1 g_2 / (g_1 + g_2)."""
    turn, _ = np.linalg.qr(a_drop(3, 1, 4, 4)[0])
    channels = turn[:2] * np.sqrt([[first], [second]])
    assert best_gain(channels) == pytest.approx(first * second / (first + second), rel=1e-9)


@pytest.mark.parametrize("spread_db", [0.0, 20.0])
@pytest.mark.parametrize("num_antennas", [2, 5, 10])
def test_two_clients(num_antennas, spread_db):
    """The distance of 0 from the segment between h_1 and h_2, turned into phase.

    With r = |h_1^H h_2| and powers g_1 <= g_2: the weaker one's matched filter if r >= g_1, as the other then
    has r^2 / g_1 >= g_1; or else the height of the triangle, (g_1 g_2 - r^2) / (g_1 + g_2 - 2 r). Nearly
    orthogonal clients come into phase slowly: of 15,000 such pairs the worst lacked 5e-5.
    """
    channels = a_drop(4, 40, 2, num_antennas, spread_db)
    g_1, g_2 = np.sort((np.abs(channels) ** 2).sum(axis=2), axis=1).T
    r = np.abs((channels[:, 0].conj() * channels[:, 1]).sum(axis=1))
    expected = np.where(r >= g_1, g_1, (g_1 * g_2 - r**2) / (g_1 + g_2 - 2.0 * r))
    assert (r < g_1).any()
    assert gains(channels, receive_beams(channels)) == pytest.approx(expected, rel=1e-4)


def test_channels_all_alike():
    """A client twice or with another phase changes nothing."""
    client = a_drop(5, 1, 1, 6)[0, 0]
    channels = np.array([client, 1j * client, -client, client])
    assert best_gain(channels) == pytest.approx((np.abs(client) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize("num_clients", [3, 5, 8])
def test_two_antennas_against_a_grid(num_clients):
    """(cos x, e^(jy) sin x) are all beams of two antennas; the best lies within a step of the grid."""
    x, y = np.linspace(0.0, math.pi / 2.0, 601), np.linspace(0.0, 2.0 * math.pi, 1201)
    grid = np.array([np.cos(x)[:, None] + 0j * y, np.sin(x)[:, None] * np.exp(1j * y)])
    for channels in a_drop(6, 6, num_clients, 2, spread_db=6.0):
        powers = np.abs(np.tensordot(channels.conj(), grid, axes=1)) ** 2
        on_grid = powers.min(axis=0).max()
        # Along the grid |a^H h| changes by no more than |h| times the distance, here half a diagonal.
        step = 0.5 * math.hypot(x[1], y[1])
        strongest = np.abs(channels).max() * math.sqrt(2.0)
        found = best_gain(channels)
        assert found >= on_grid * (1.0 - 1e-6)
        assert math.sqrt(found) <= math.sqrt(on_grid) + strongest * step


# --- Beside the bound and an independent method -----------------------------------------------------------


@pytest.mark.parametrize("spread_db", [0.0, 10.0])
def test_three_clients_meet_the_bound(spread_db):
    """There the relaxation has a solution of rank 1, so the optimum is the bound."""
    for channels in a_drop(7, 6, 3, 10, spread_db):
        found = quality(channels, receive_beams(channels[None])[0])
        assert 1.0 - 1e-5 <= found.ratio <= 1.0
        assert found.achieved == pytest.approx(gain_of(channels, receive_beams(channels[None])[0]), rel=1e-12)


@pytest.mark.parametrize(("num_antennas", "num_clients"), [(10, 15), (4, 15), (1, 4), (6, 1)])
def test_gain_bound_and_weakest_client_are_in_order(num_antennas, num_clients):
    """So they are whatever the weights of the bound; the solver's give the tightest."""
    rng = np.random.default_rng(8)
    for channels in a_drop(8, 3, num_clients, num_antennas, spread_db=10.0):
        found = relaxation(channels)
        weakest = (np.abs(channels) ** 2).sum(axis=1).min()
        achieved = best_gain(channels)
        assert achieved <= found.bound <= weakest * (1.0 + 1e-11)
        assert found.value == pytest.approx(found.bound, rel=1e-6)
        assert found.value <= found.bound
        for weights in [*rng.exponential(size=(20, num_clients)) ** 2, -np.ones(num_clients)]:
            assert found.bound <= bound(channels, weights) * (1.0 + 1e-6)
            assert bound(channels, weights) <= weakest * (1.0 + 1e-11)


def test_the_covariance_is_what_the_value_says():
    channels = a_drop(9, 1, 15, 4)[0]
    found = relaxation(channels)
    x = found.covariance
    assert x == pytest.approx(x.conj().T, abs=1e-12)
    assert np.linalg.eigvalsh(x)[0] >= -1e-12
    assert np.trace(x) == pytest.approx(1.0, rel=1e-12)
    assert found.value == pytest.approx(min((h.conj() @ x @ h).real for h in channels), rel=1e-10)


def test_the_bound_of_two_orthogonal_clients():
    """`l g_1 = (1 - l) g_2` makes both eigenvalues g_1 g_2 / (g_1 + g_2)."""
    channels = np.diag([1.0, math.sqrt(3.0)]).astype(complex)
    assert bound(channels, [3.0, 1.0]) == pytest.approx(0.75, rel=1e-11)
    assert bound(channels, [1.0, 1.0]) == pytest.approx(1.0, rel=1e-11)
    assert relaxation(channels).bound == pytest.approx(0.75, rel=1e-6)


def scipy_gain(channels, num_starts: int, num_polished: int, seed: int) -> float:
    """Gradient ascent on a soft minimum of the gains from many random beams; SLSQP from the best of them."""
    rng = np.random.default_rng(seed)
    num_clients, m = channels.shape
    beams = rng.standard_normal((num_starts, m)) + 1j * rng.standard_normal((num_starts, m))
    for turn in range(60):
        beams /= np.linalg.norm(beams, axis=1, keepdims=True)
        effective = beams @ channels.conj().T
        powers = np.abs(effective) ** 2
        sharpness = 2.0 * 1.06**turn
        weights = np.exp(-sharpness * (powers / powers.mean(axis=1, keepdims=True)).clip(max=50.0))
        weights /= weights.sum(axis=1, keepdims=True)
        gradient = (weights * effective) @ channels
        beams = beams + 0.3 / (1.0 + 0.1 * turn) * gradient / np.linalg.norm(gradient, axis=1, keepdims=True)
    beams /= np.linalg.norm(beams, axis=1, keepdims=True)
    order = np.argsort(-(np.abs(beams @ channels.conj().T) ** 2).min(axis=1))

    def powers_of(v):
        return np.abs(channels.conj() @ (v[:m] + 1j * v[m:-1])) ** 2

    def slopes_of(v):
        pulls = (channels.conj() @ (v[:m] + 1j * v[m:-1]))[:, None] * channels
        return np.hstack([2.0 * pulls.real, 2.0 * pulls.imag, -np.ones((num_clients, 1))])

    best = 0.0
    for start in beams[order[:num_polished]]:
        v = np.concatenate([start.real, start.imag, [0.0]])
        v[-1] = powers_of(v).min()
        found = minimize(
            lambda v: -v[-1],
            v,
            jac=lambda v: np.append(np.zeros(2 * m), -1.0),
            constraints=[
                {"type": "ineq", "fun": lambda v: powers_of(v) - v[-1], "jac": slopes_of},
                {
                    "type": "ineq",
                    "fun": lambda v: np.array([1.0 - v[:-1] @ v[:-1]]),
                    "jac": lambda v: np.append(-2.0 * v[:-1], 0.0)[None],
                },
            ],
            method="SLSQP",
            options={"maxiter": 60},
        )
        beam = found.x[:m] + 1j * found.x[m:-1]
        best = max(best, gain_of(channels, beam / np.linalg.norm(beam)))
    return best


@pytest.mark.parametrize(("num_antennas", "num_clients"), [(10, 15), (4, 8)])
def test_as_good_as_scipy_from_thousands_of_starts(num_antennas, num_clients):
    for number, channels in enumerate(a_drop(10, 2, num_clients, num_antennas, spread_db=3.0)):
        independent = scipy_gain(channels, num_starts=2000, num_polished=6, seed=number)
        assert best_gain(channels) >= 0.999 * independent
        # More than a third of what no beam exceeds, or the comparison would be worth little.
        assert independent >= relaxation(channels).bound / 3.0


def test_steps_never_lower_the_gain():
    """And raise that of raw starts by a fifth at least."""
    scaled = beamforming._scaled(a_drop(11, 4, 12, 5, spread_db=10.0))
    state = first = beamforming._state(scaled, beamforming._starts(scaled, 16))
    for softness in beamforming.SOFTNESS:
        before, state = state, beamforming._step(scaled, state, softness)
        assert (state.gain >= before.gain).all()
        assert state.gain == pytest.approx(scaled.worst(state.beams @ scaled.to_parts), rel=1e-12)
    assert (state.gain > 1.2 * first.gain).all()


# --- Laws -------------------------------------------------------------------------------------------------

DROPS = {"seed": st.integers(0, 2**32 - 1), "n": st.integers(2, 12), "m": st.integers(2, 8)}


@settings(max_examples=25)
@given(**DROPS, exponent=st.integers(-60, 60), spread_db=st.sampled_from([0.0, 20.0, 200.0]))
def test_laws(seed, n, m, exponent, spread_db):
    """Unit length, determinism, scale, rotation, phases, order; no client helps by joining."""
    channels = a_drop(seed, 1, n, m, spread_db)[0]
    rng = np.random.default_rng(seed)
    beam = receive_beams(channels[None])[0]
    gain = gain_of(channels, beam)
    assert np.linalg.norm(beam) == pytest.approx(1.0, rel=1e-12)
    assert np.array_equal(beam, receive_beams(channels[None])[0])
    assert np.array_equal(beam, receive_beams(2.0**exponent * channels[None])[0])
    assert np.array_equal(beam, receive_beams(channels[rng.permutation(n)][None])[0])
    assert best_gain(1e-7 * channels) == pytest.approx(1e-14 * gain, rel=1e-3)
    turn, _ = np.linalg.qr(rng.standard_normal((m, m)) + 1j * rng.standard_normal((m, m)))
    assert best_gain(channels @ turn) == pytest.approx(gain, rel=1e-3)
    assert gain <= bound(channels, rng.random(n))
    # A beam of all clients is one of the fewer, which a method that misses the optimum need not find.
    assert gain <= best_gain(channels[:-1]) * 1.01


@pytest.mark.parametrize("spread_db", [120.0, 200.0])
def test_powers_of_very_different_size(spread_db):
    """From 1e-14 to 1e6: the weakest clients decide nearly alone, and the bound is met."""
    channels = 1e3 * a_drop(12, 5, 15, 10, spread_db)
    for problem, beam in zip(channels, receive_beams(channels), strict=True):
        assert quality(problem, beam).ratio == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(("num_antennas", "num_clients"), [(10, 15), (3, 7), (10, 1), (1, 3), (17, 31)])
def test_a_result_does_not_depend_on_the_batch(num_antennas, num_clients):
    """Bit for bit, at any place of any batch."""
    channels = a_drop(13, 2 * beamforming.TOGETHER + 3, num_clients, num_antennas, spread_db=20.0)
    together = receive_beams(channels)
    for first, size in [(0, 1), (5, 1), (1, 2), (3, 7), (16, 18), (7, len(channels) - 7)]:
        assert np.array_equal(receive_beams(channels[first : first + size]), together[first : first + size])
    backwards = receive_beams(channels[::-1])
    assert np.array_equal(backwards[::-1], together)


def test_more_starts_find_more():
    """In cells of 30 clients 64 starts miss the best of 256 now and then, and one start nearly always."""
    channels = a_drop(14, 12, 30, 10)
    one, usual, many = (gains(channels, receive_beams(channels, num_starts=n)) for n in (1, 64, 256))
    assert many.mean() >= usual.mean() >= 1.05 * one.mean()
    assert (usual >= 0.9 * many).all()


def test_no_problems_no_beams():
    nothing = np.zeros((0, 4, 3), dtype=complex)
    assert receive_beams(nothing).shape == (0, 3)
    assert gains(nothing, receive_beams(nothing)).shape == (0,)


# --- What is refused --------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
def test_shapes(shape):
    channels = np.ones(shape, dtype=complex)
    if len(shape) == 3 and 0 not in shape[1:]:
        assert receive_beams(channels).shape == (shape[0], shape[2])
    else:
        with pytest.raises(ConfigurationError, match=r"must be \(problems, clients, antennas\)"):
            receive_beams(channels)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, r"problem 1, client 2 are not finite"),
        (complex(0.0, math.inf), r"problem 1, client 2 are not finite"),
        (0.0, r"problem 1, client 2 are all 0"),
    ],
)
def test_channels_that_cannot_be(value, message):
    channels = a_drop(15, 2, 3, 4)
    channels[1, 2] = value
    with pytest.raises(ConfigurationError, match=message):
        receive_beams(channels)
    with pytest.raises(ConfigurationError, match=message):
        gains(channels, np.ones((2, 4), dtype=complex))
    with pytest.raises(ConfigurationError, match="client 2"):
        relaxation(channels[1])
    with pytest.raises(ConfigurationError, match="client 2"):
        bound(channels[1], np.ones(3))


def test_beams_and_starts_that_cannot_be():
    channels = a_drop(16, 2, 3, 4)
    with pytest.raises(ConfigurationError, match=r"gains: beams have shape \(2, 3\)"):
        gains(channels, np.ones((2, 3), dtype=complex))
    with pytest.raises(ConfigurationError, match="receive_beams: num_starts = 0"):
        receive_beams(channels, num_starts=0)
