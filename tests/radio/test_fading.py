"""Rayleigh block fading: the law of its gain, and that nothing but seed, client and block moves a draw."""

import math
from functools import cache

import channels
import numpy as np
import pytest
from scipy import stats

from cosim.clock.simulation import Simulation
from cosim.jobs.job import Job
from cosim.radio.fading import NoFading, Rayleigh
from cosim.radio.redrawn import CoherenceTime, EveryEdgeRound, EveryGlobalRound

SIGNIFICANCE = 0.001
SIGMAS = stats.norm.ppf(1.0 - SIGNIFICANCE / 2.0)
NUM_DRAWS = 4000


def fading_of(sim, client="client-0000", num_antennas=10, redrawn=EveryGlobalRound()):  # noqa: B008
    return channels.faded(Rayleigh(num_antennas=num_antennas, redrawn=redrawn), sim, client)


def at(time_s: float) -> Simulation:
    """A clock at this instant."""
    sim = Simulation(seed=1)
    sim.run(sim.spend("nobody", "wait", time_s))
    return sim


@cache
def gains_over_clients(num_antennas: int) -> np.ndarray:
    sim = Simulation(seed=1)
    return np.array([fading_of(sim, f"client-{n:04d}", num_antennas).gain((1,)) for n in range(NUM_DRAWS)])


@cache
def gains_over_blocks(num_antennas: int) -> np.ndarray:
    fading = fading_of(Simulation(seed=2), num_antennas=num_antennas)
    return np.array([fading.gain((block,)) for block in range(NUM_DRAWS)])


# --- The law ----------------------------------------------------------------------------------------------


def is_gamma(gains: np.ndarray, shape: float, scale: float = 1.0) -> bool:
    return bool(stats.kstest(gains, stats.gamma(shape, scale=scale).cdf).pvalue > SIGNIFICANCE)


def has_moments(gains: np.ndarray, m: int) -> bool:
    """Mean M, variance M within 99.9 % intervals; the fourth central moment of Gamma(M, 1) is 3 M² + 6 M."""
    mean_error = math.sqrt(m / gains.size)
    variance_error = math.sqrt((2.0 * m**2 + 6.0 * m) / gains.size)
    return bool(
        abs(gains.mean() - m) < SIGMAS * mean_error and abs(gains.var() - m) < SIGMAS * variance_error
    )


@pytest.mark.parametrize("gains_of", [gains_over_clients, gains_over_blocks])
@pytest.mark.parametrize("num_antennas", [1, 4, 10])
def test_the_gain_of_m_antennas_is_gamma_m_1(gains_of, num_antennas):
    gains = gains_of(num_antennas)
    assert is_gamma(gains, num_antennas)
    assert has_moments(gains, num_antennas)


@pytest.mark.parametrize("num_antennas", [1, 4, 10])
def test_wrong_laws_of_the_gain_would_be_caught(num_antennas):
    """Real instead of complex noise, a forgotten 1 / sqrt(2), an antenna too many, an average of antennas."""
    gains = gains_over_clients(num_antennas)
    real = stats.chi2(num_antennas).rvs(NUM_DRAWS, random_state=1)
    assert not is_gamma(real, num_antennas)
    assert not has_moments(real, num_antennas)
    assert not is_gamma(gains, num_antennas, scale=2.0)
    assert not is_gamma(gains, num_antennas + 1)
    assert not has_moments(2.0 * gains, num_antennas)
    if num_antennas > 1:
        assert not has_moments(gains / num_antennas, num_antennas)


def is_uncorrelated(x: np.ndarray, y: np.ndarray) -> bool:
    """Sample correlation within its 99.9 % interval around zero."""
    return bool(stats.pearsonr(x, y).pvalue > SIGNIFICANCE)


def is_normal(parts: np.ndarray) -> bool:
    """True if real or imaginary parts are N(0, 1/2)."""
    return bool(stats.kstest(parts, stats.norm(scale=math.sqrt(0.5)).cdf).pvalue > SIGNIFICANCE)


def vectors() -> np.ndarray:
    """Channel vectors of two antennas over blocks, shape (blocks, 2)."""
    sim, fading = Simulation(seed=1), Rayleigh(num_antennas=2)
    return np.array([fading.vectors(sim, ("client-0000",), (block,))[0] for block in range(NUM_DRAWS)])


def test_channel_entries_are_circular_normal_and_independent():
    h = vectors()
    columns = [h[:, 0].real, h[:, 0].imag, h[:, 1].real, h[:, 1].imag]
    assert all(map(is_normal, columns))
    for place, x in enumerate(columns):
        for y in columns[place + 1 :]:
            assert is_uncorrelated(x, y)
            assert is_uncorrelated(x**2, y**2)
        assert is_uncorrelated(x[1:], x[:-1])


def test_hanging_parts_would_be_caught():
    h = vectors()
    mixed = math.sqrt(0.99) * h[:, 0].imag + 0.1 * h[:, 0].real
    assert is_normal(mixed)
    assert not is_uncorrelated(h[:, 0].real, mixed)
    assert not is_normal(math.sqrt(2.0) * h[:, 0].real)
    assert not is_uncorrelated(h[:, 0].real ** 2, np.abs(h[:, 0]) ** 2)


@pytest.mark.parametrize("client", ["client-0000", "client-0255", "client-0256", "client-9999"])
def test_the_gain_is_the_power_of_the_vector_to_the_last_bit(client):
    """Gains are made for a block of clients at once, and here the vector alone."""
    (h,) = Rayleigh(num_antennas=3).vectors(Simulation(seed=1), (client,), (5,))
    assert h.shape == (3,)
    assert fading_of(Simulation(seed=1), client, num_antennas=3).gain((5,)) == sum(
        v.real * v.real + v.imag * v.imag for v in h
    )


def test_without_fading_the_gain_is_one():
    fading = channels.faded(NoFading(), Simulation(seed=1))
    vectors = NoFading().vectors(Simulation(seed=1), ("client-0000",), ())
    np.testing.assert_array_equal(vectors, [[1.0 + 0.0j]])
    assert fading.gain(fading.block(Job(1, 2, 2))) == 1.0
    assert fading.end_s(fading.block(Job(1, 2, 2))) == math.inf


# --- Blocks -----------------------------------------------------------------------------------------------


def test_by_global_round_the_channel_stays_for_all_edge_rounds():
    fading = fading_of(Simulation(seed=1), redrawn=EveryGlobalRound())
    gains = {(g, e): fading.gain(fading.block(Job.of_round(g, e, 3))) for g in range(5) for e in range(3)}
    assert all(gains[g, e] == gains[g, 0] for g, e in gains)
    assert len(set(gains.values())) == 5
    assert fading.end_s(fading.block(Job(1, 0, 0))) == math.inf


def test_by_edge_round_every_edge_round_has_its_own_channel():
    fading = fading_of(Simulation(seed=1), redrawn=EveryEdgeRound())
    gains = [fading.gain(fading.block(Job.of_round(g, e, 3))) for g in range(5) for e in range(3)]
    assert len(set(gains)) == 15
    assert gains == [fading.gain(fading.block(Job.of_round(g, e, 3))) for g in range(5) for e in range(3)]
    assert fading.end_s(fading.block(Job(1, 2, 2))) == math.inf


@pytest.mark.parametrize(
    ("time_s", "block"),
    [(0.25, 0), (0.5 - 1e-15, 0), (0.5, 1), (0.75, 1), (1.0, 2), (100.0, 200)],
)
def test_by_coherence_time_the_block_is_that_of_the_instant(time_s, block):
    fading = fading_of(at(time_s), redrawn=CoherenceTime(coherence_time_s=0.5))
    assert fading.block(Job(7, 3, 3)) == (block,)
    assert fading.end_s((block,)) == 0.5 * (block + 1)
    assert time_s < fading.end_s(fading.block(Job(7, 3, 3)))


def test_the_first_block_by_coherence_time_starts_with_the_clock():
    fading = fading_of(Simulation(seed=1), redrawn=CoherenceTime(coherence_time_s=0.5))
    assert fading.block(Job(1, 0, 0)) == (0,)


# --- What moves a draw, and what does not -----------------------------------------------------------------


def test_a_draw_hangs_on_seed_client_and_block_alone():
    def gain(seed=1, client="client-0003", block=(4,), others=()):
        sim = Simulation(seed=seed)
        for other in others:
            fading_of(sim, other).gain(block)
        return fading_of(sim, client).gain(block)

    assert gain() == gain(others=("client-0001", "client-0002", "client-0004"))
    assert len({gain(), gain(seed=2), gain(client="client-0004"), gain(block=(5,)), gain(block=(4, 0))}) == 5


def test_the_order_of_blocks_does_not_matter():
    blocks = [(3,), (1,), (3,), (2,), (1,)]
    fading, alone = (
        fading_of(Simulation(seed=1)),
        [fading_of(Simulation(seed=1)).gain(block) for block in blocks],
    )
    assert [fading.gain(block) for block in blocks] == alone


def test_another_bandwidth_moves_no_draw():
    def gain(bandwidth_hz):
        channel = channels.flat(10.0, fading_of(Simulation(seed=1)))
        return (2.0 ** (channel.rate_bps(bandwidth_hz, (4,)) / bandwidth_hz) - 1.0) / 10.0

    assert gain(1e6) == pytest.approx(gain(7e6), rel=1e-12)


def test_more_antennas_keep_the_law_of_each():
    """Not the draws: the vector of another length is another draw, but its mean power per antenna stays 1."""
    gains = {
        num_antennas: gains_over_blocks(num_antennas).mean() / num_antennas for num_antennas in (1, 4, 10)
    }
    for num_antennas, mean in gains.items():
        assert abs(mean - 1.0) < SIGMAS / math.sqrt(num_antennas * NUM_DRAWS)
