"""Reception of an edge server over the air: the mean, and noise of the variance of eqs. 25 and 28."""

import math
from weakref import WeakSet

import numpy as np
import pytest
import worlds
from data_sets import loaded
from scipy import stats

import models
from cosim import (
    AfterRounds,
    Deadline,
    FixedShares,
    GivenSnr,
    HFedAvg,
    Hist,
    Never,
    PerClient,
    PerGroup,
    Radio,
    Rayleigh,
    Sgd,
    System,
    evolve,
)
from cosim.clock.simulation import Simulation
from cosim.data import Iid, Synthetic
from cosim.devices import PowerRange
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.jobs.job import Job
from cosim.protocols import Fractions
from cosim.radio import EveryEdgeRound, LinkBudget, OverTheAir
from cosim.radio.fading import _gaussian
from cosim.radio.sharing import reception as room
from cosim.radio.sharing.reception import Reception
from cosim.training.local_steps import SameSteps

RATE = 0.02
SNR_DB = 7.0
UNITS = 400


def system(**radio) -> System:
    """Two cells of three clients; one antenna, so that the beam is a phase and eq. 25 needs no search."""
    usual = worlds.over_the_air(
        seed=5,
        num_clients=6,
        model=f"relu-12-{UNITS}-4",
        data=Synthetic(split=Iid()),
        uplink=Radio(
            sharing=OverTheAir(),
            link=GivenSnr(snr_db=PerGroup(values=(SNR_DB,))),
            fading=Rayleigh(num_antennas=1, redrawn=EveryEdgeRound()),
        ),
        protocol=Hist(
            submodel_sizes=Fractions(values=(0.25, 0.75)),
            training=worlds.training(
                num_edge_rounds=1,
                steps=SameSteps(num_local_steps=2),
                local=Sgd(batch_size=20, learning_rate=RATE),
            ),
        ),
        end=AfterRounds(num_global_rounds=1),
    )
    return evolve(usual, uplink=evolve(usual.uplink, **radio))


def run_of(system: System, num_workers: int = 1) -> tuple[Simulation, Cloud, dict[str, np.ndarray]]:
    sim, learner, cloud = worlds.built(system, num_workers=num_workers)
    model = sim.run(system.protocol.run(sim, cloud))
    return sim, cloud, learner.weights(model)


def without_noise(system: System) -> dict[str, np.ndarray]:
    return run_of(evolve(system, uplink=evolve(system.uplink, sharing=FixedShares())))[2]


def weakest_gain(system: System, clients: range, edge_round: int = 0) -> float:
    """`min |h_i|^2` over a cell, from the streams' own numbers."""
    sim = Simulation(system.seed)
    gains = []
    for number in clients:
        antenna, job_number = 0, edge_round  # of the first global round
        channel = sim.of_client(f"client-{number:04d}", "fading", _gaussian, antenna, job_number)
        gains.append(float(abs(channel) ** 2))
    return min(gains)


def noise_of_cells(system: System) -> list[np.ndarray]:
    """Change by the noise in each cell's part, in units of the learning rate."""
    _, cloud, noisy = run_of(system)
    clean = without_noise(system)
    parts = system.protocol.parts(Simulation(system.seed), cloud, 1)
    found = []
    for part in parts:
        units = part.units["hidden1"]
        first = (noisy["layers.0.weight"] - clean["layers.0.weight"])[units]
        last = (noisy["layers.1.weight"] - clean["layers.1.weight"])[:, units]
        found.append(np.concatenate([first.ravel(), last.ravel()]) / RATE)
    return found


def test_variance_is_that_of_equation_25_in_every_cell():
    """99.9 % intervals of a chi-square law; half and twice the variance lie far outside."""
    base = system()
    for cell, noise in enumerate(noise_of_cells(base)):
        gain = weakest_gain(base, range(3 * cell, 3 * cell + 3))
        mse = 1.0 / (10.0 ** (SNR_DB / 10.0) * gain)
        low, high = stats.chi2.interval(0.999, len(noise))
        assert low <= np.sum(noise**2) / mse <= high
        assert not low <= np.sum(noise**2) / (0.5 * mse) <= high
        assert not low <= np.sum(noise**2) / (2.0 * mse) <= high
        # Unbiased, and normal.
        assert abs(noise.mean()) < stats.norm.isf(0.0005) * math.sqrt(mse / len(noise))
        assert stats.kstest(noise / math.sqrt(mse), "norm").pvalue > 0.001


def test_cells_have_noise_of_their_own():
    first, second = noise_of_cells(system())
    correlation = np.corrcoef(first[: len(first)], second[: len(first)])[0, 1]
    assert abs(correlation) < stats.norm.isf(0.0005) / math.sqrt(len(first))


@pytest.mark.parametrize(
    ("settings", "factor"),
    [
        (OverTheAir(transmit_power="full"), 1.0 / 9.0),
        (OverTheAir(noise="real-part"), 0.5),
        (OverTheAir(transmit_power="full", noise="real-part"), 1.0 / 18.0),
    ],
)
def test_options_scale_the_noise_and_nothing_else(settings, factor):
    plain, scaled = noise_of_cells(system()), noise_of_cells(system(sharing=settings))
    for noise, less in zip(plain, scaled, strict=True):
        # Weights are float32: their rounding is up to 6e-8 of a weight of 1, over the learning rate.
        np.testing.assert_allclose(less, math.sqrt(factor) * noise, atol=3e-5)


def test_noise_of_edge_rounds_is_independent_and_redrawn():
    """Two edge rounds: with local training that hardly moves, noise adds up as variances do."""
    base = system()
    training = evolve(base.protocol.training, num_edge_rounds=2)
    twice = evolve(base, protocol=evolve(base.protocol, training=training))
    for cell, noise in enumerate(noise_of_cells(twice)):
        clients = range(3 * cell, 3 * cell + 3)
        snr = 10.0 ** (SNR_DB / 10.0)
        variance = sum(1.0 / (snr * weakest_gain(base, clients, e)) for e in (0, 1))
        # The second round trains from a noisy model; that moves its mean by far less than the noise.
        assert np.mean(noise**2) == pytest.approx(variance, rel=0.1)


def test_clients_of_unlike_power_are_scaled_by_their_own():
    """The weakest of SNR_i |h_i|^2 counts, not the weakest channel."""
    channels = np.array([[2.0 + 0.0j], [0.0 + 1.0j]])
    for amplitude, deviation in ((1.0, 1.0), (0.25, 2.0)):
        scaled = np.diag([amplitude + 0j, 1.0]) @ channels
        reception = Reception(lambda scaled=scaled: scaled, OverTheAir().noise_factor, WeakSet())
        assert reception.noise_deviation == pytest.approx(deviation)
    levels_db = (0.0, 10.0, 20.0, 5.0, 5.0, 5.0)
    base = system(link=GivenSnr(snr_db=PerClient(values=levels_db)))
    snr = 10.0 ** (np.array(levels_db[:3]) / 10.0)
    gain = min(snr[number] * weakest_gain(base, range(number, number + 1)) for number in range(3))
    noise = noise_of_cells(base)[0]
    low, high = stats.chi2.interval(0.999, len(noise))
    assert low <= np.sum(noise**2) * gain <= high


def test_the_key_of_the_round_decides_whatever_the_workers():
    one, other = run_of(system(), num_workers=1)[2], run_of(system(), num_workers=2)[2]
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


def test_beams_are_formed_only_where_a_model_is_read(monkeypatch):
    """Timing only asks for no beam, and its spans equal the full run's."""
    full = run_of(system())[0].recorder

    def fail(channels):
        raise AssertionError("a beam was formed")

    monkeypatch.setattr(room, "receive_beams", fail)
    base = evolve(system(), evaluation=Never())
    ground, dataset = ground_of(base), loaded(Synthetic())
    sim, learner = ground.sim, Learner(models.build(base.model), dataset)
    cloud = nodes_of(base, ground, learner, lambda: dataset)
    sim.run(base.protocol.run(sim, cloud))
    assert sim.recorder.spans == full.spans


@pytest.mark.parametrize("protocol", [Hist, HFedAvg])
def test_without_noise_to_speak_of_over_the_air_is_the_mean(protocol):
    base = system(link=GivenSnr(snr_db=PerGroup(values=(200.0,))))
    base = evolve(
        base, protocol=protocol(training=base.protocol.training), end=AfterRounds(num_global_rounds=2)
    )
    noisy, clean = run_of(base)[2], without_noise(base)
    for name, values in clean.items():
        np.testing.assert_allclose(noisy[name], values, atol=1e-6)


def test_sums_are_received_together_and_each_as_if_alone(monkeypatch):
    """Sums of many clients at once equal each sum on its own, bit for bit; forgotten sums cost nothing."""
    rng, asked, formed = np.random.default_rng(1), [], []
    parts = rng.standard_normal((2, 9, 5, 3))
    channels = parts[0] + 1j * parts[1]
    real = room.receive_beams
    monkeypatch.setattr(room, "receive_beams", lambda h: formed.append(len(h)) or real(h))

    def channels_of(number, num_clients=5):
        def give():
            asked.append(number)
            return channels[number, :num_clients]

        return give

    beside = WeakSet()
    sums = [Reception(channels_of(number), OverTheAir().noise_factor, beside) for number in range(6)]
    fewer = Reception(channels_of(6, num_clients=4), OverTheAir().noise_factor, beside)
    forgotten = Reception(channels_of(7), OverTheAir().noise_factor, beside)
    del forgotten
    deviations = [found.noise_deviation for found in sums]
    assert formed == [6]
    assert 7 not in asked
    assert fewer.noise_deviation > 0.0
    assert formed == [6, 1]
    for number, deviation in enumerate(deviations):
        assert (
            Reception(channels_of(number), OverTheAir().noise_factor, WeakSet()).noise_deviation == deviation
        )


def scaled_noise(system: System, gains: list[float]) -> None:
    """The noise of every cell has the variance 1 / gain, within 99.9 %."""
    for noise, gain in zip(noise_of_cells(system), gains, strict=True):
        low, high = stats.chi2.interval(0.999, len(noise))
        assert low <= np.sum(noise**2) * gain <= high


def test_only_those_who_sent_set_the_noise():
    """A deadline cuts each cell's client of the weakest channel: the beam and the noise are the others'."""
    base = system()
    weakest = [
        min(range(first, first + 3), key=lambda n: weakest_gain(base, range(n, n + 1))) for first in (0, 3)
    ]
    speeds = [1e5 if number in weakest else 1e9 for number in range(6)]
    training = evolve(base.protocol.training, waiting=Deadline(deadline_s=1.0))
    cut = evolve(base, devices=worlds.processors(*speeds), protocol=evolve(base.protocol, training=training))
    snr = 10.0 ** (SNR_DB / 10.0)
    others = [[n for n in range(first, first + 3) if n not in weakest] for first in (0, 3)]
    gains = [snr * min(weakest_gain(base, range(n, n + 1)) for n in cell) for cell in others]
    assert all(
        g > 1.1 * snr * weakest_gain(base, range(n, n + 1)) for g, n in zip(gains, weakest, strict=True)
    )
    scaled_noise(cut, gains)


def test_power_and_path_loss_of_a_budget_are_spread_over_the_band():
    """SNR = P gain / (N0 B), whatever the subcarrier; clients of unlike power and place."""
    base = system(sharing=OverTheAir(bandwidth_hz=1e6), link=LinkBudget(noise_figure_db=0.0))
    powers = PowerRange(lowest_dbm=0.0, highest_dbm=20.0)
    base = evolve(base, devices=evolve(base.devices, tx_power=powers))
    _, cloud, _ = run_of(base)
    gains = []
    for edge in cloud.edges:
        heard = []
        for client in edge.clients:
            link = edge.route.uplink.link
            channel = link.known_channel(client.name, client.tx_power_w, Job(1, 0, 0))
            number = int(client.name.removeprefix("client-"))
            snr = channel.mean_snr(1.0) / 1e6
            heard.append(snr * weakest_gain(base, range(number, number + 1)))
        gains.append(min(heard))
    scaled_noise(base, gains)
