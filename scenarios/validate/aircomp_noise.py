"""Has an over-the-air sum the noise of the closed form (HIST journal, eqs. 25, 26 and 28)?

Cells of 15 clients and 10 antennas, channels redrawn in every edge round. The same updates are combined with
noise and without; the difference over the learning rate is the noise of the received mean. Over all rounds
and parameters it must have mean 0 (unbiased, eq. 26) and the variance of eq. 25, round by round; over the
parameters of a model that adds up to eq. 28. Intervals follow from normal and chi-square laws, at a level at
which all points together err with probability 5 % at most. Beams are taken as they are formed; how good they
are is `benchmarks/beamforming.py`'s. Wrong theories (the other transmit power, the other part of the noise,
the mean channel instead of the weakest, the learning rate left out) must come out as *disagrees*.

    cosim validate aircomp-noise
"""

import math
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from scipy import stats

import cosim
import models
from analysis.closed_forms.over_the_air import AirDistortion
from analysis.intervals.statistics import Interval, familywise
from cosim.configuration import at_least, knob, not_negative, part
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.engine.servers.edge import EdgeServer
from cosim.jobs.job import Job
from cosim.radio.radio_link import RadioLink
from cosim.radio.sharing.beamforming import receive_beams
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.command_line.console import console

__all__ = ["Options", "main"]

FAMILY_ERROR = 0.05
MARGIN = 0.05
"""Half width, relative to the closed form, at which a point decides."""
RATE = 0.01
CLIENTS, ANTENNAS = 15, 10


@part
class Options:
    """How much is simulated.

    Attributes:
        num_rounds: Edge rounds of each of two cells, for each point.
        seed: Names channels and noise.
    """

    num_rounds: int = knob(at_least(2), default=25)
    seed: int = knob(not_negative, default=1)


@attrs.frozen(kw_only=True)
class Point:
    """One setting."""

    snr_db: float
    sharing: cosim.radio.OverTheAir = attrs.field(factory=cosim.radio.OverTheAir)


POINTS = (
    Point(snr_db=-20.0),
    Point(snr_db=0.0),
    Point(snr_db=20.0),
    Point(snr_db=0.0, sharing=cosim.radio.OverTheAir(transmit_power="full")),
    Point(snr_db=0.0, sharing=cosim.radio.OverTheAir(noise="real-part")),
)


def system(point: Point, options: Options, place: int) -> cosim.System:
    """Two cells; points have seeds of their own, so that their noise is independent."""
    return cosim.System(
        seed=options.seed * len(POINTS) + place,
        num_cells=2,
        num_clients=2 * CLIENTS,
        model="relu-12-60-4",
        data=cosim.data.Synthetic(split=cosim.data.Iid()),
        uplink=cosim.Radio(
            sharing=point.sharing,
            link=cosim.GivenSnr(snr_db=cosim.PerGroup(values=(point.snr_db,))),
            fading=cosim.Rayleigh(num_antennas=ANTENNAS, redrawn=cosim.radio.EveryEdgeRound()),
        ),
        protocol=cosim.HFedAvg(),
        end=cosim.AfterRounds(num_global_rounds=1),
    )


def network_of(of: cosim.System) -> tuple[cosim.Simulation, Cloud]:
    """The nodes and their clock."""
    ground = ground_of(of)
    dataset = of.data.load(ground.sim, None)
    learner = Learner(models.build(of.model), dataset, num_workers=1)
    return ground.sim, nodes_of(of, ground, learner, lambda: dataset)


def noise(sim: cosim.Simulation, cloud: Cloud, edge: EdgeServer, edge_round: int) -> NDArray[np.float64]:
    """Received mean of accumulated gradients less the true one, shape (parameters,)."""
    learner = cloud.learner
    start = learner.stored_model(learner.weights(learner.initial_model(1)))
    updates = [
        PendingUpdate(
            client=client.name,
            model=start,
            samples=client.samples,
            num_steps=1,
            training=Sgd(batch_size=10, learning_rate=RATE),
            key=1,
        )
        for client in edge.clients
    ]
    job = Job(1, edge_round, edge_round)
    received = learner.weights(edge.received(sim, cosim.server_updates.Mean(), start, updates, job))
    true = learner.weights(mean(updates))
    return np.concatenate([(true[name] - received[name]).ravel() / RATE for name in true]).astype(float)


def predict(point: Point, edge: EdgeServer, edge_round: int) -> AirDistortion:
    """The closed form on the channels of an edge round, for SNR = P_j / sigma_0^2."""
    assert isinstance(edge.route.uplink.link, RadioLink)
    job = Job(1, edge_round, edge_round)
    channels = edge.route.uplink.link.vectors(slice(None), job)
    beam = receive_beams(channels[None])[0]
    return AirDistortion(
        power_w=10.0 ** (point.snr_db / 10.0),
        noise_w=1.0,
        gains=np.abs(channels.conj() @ beam) ** 2,
        is_full_power=point.sharing.transmit_power == "full",
        is_real_part_only=point.sharing.noise == "real-part",
    )


WRONG_THEORIES: dict[str, Callable[[AirDistortion], float]] = {
    "the other power": lambda d: attrs.evolve(d, is_full_power=not d.is_full_power).element_mse,
    "the other part": lambda d: attrs.evolve(d, is_real_part_only=not d.is_real_part_only).element_mse,
    "mean channel": lambda d: attrs.evolve(d, gains=np.full(len(d.gains), d.gains.mean())).element_mse,
    "no learning rate": lambda d: d.element_mse / RATE**2,
}


def simulate(point: Point, options: Options, place: int) -> tuple[NDArray[np.float64], list[AirDistortion]]:
    """Noise of every round, shape (rounds, parameters), and its closed forms."""
    sim, cloud = network_of(system(point, options, place))
    rounds = [(edge, number) for edge in cloud.edges for number in range(options.num_rounds)]
    found = np.array([noise(sim, cloud, edge, number) for edge, number in rounds])
    return found, [predict(point, edge, number) for edge, number in rounds]


def variance_ratio(found: NDArray[np.float64], mse: NDArray[np.float64], level: float) -> Interval:
    """Mean square of the noise over its closed form, and the chi-square interval of the ratio."""
    total = float(np.sum(found**2 / mse[:, None]))
    low, high = map(float, stats.chi2.interval(level, found.size))
    return Interval(estimate=total / found.size, low=total / high, high=total / low, level=level)


def mean_ratio(found: NDArray[np.float64], mse: NDArray[np.float64], level: float) -> Interval:
    """Mean of the noise in standard deviations, and its normal interval."""
    scaled = found / np.sqrt(mse)[:, None]
    half = float(stats.norm.isf((1.0 - level) / 2.0)) / math.sqrt(found.size)
    estimate = float(scaled.mean())
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half, level=level)


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    level = familywise(2 * len(POINTS), FAMILY_ERROR)
    table = Table(
        title=f"Noise of sums over the air, {2 * options.num_rounds} edge rounds of {CLIENTS} clients and "
        f"{ANTENNAS} antennas"
    )
    for heading in ("SNR", "power", "noise", "model variance, eq. 28", "over closed form", "verdict", "mean"):
        table.add_column(heading, justify="right")
    failed = False
    caught = dict.fromkeys(WRONG_THEORIES, 0)
    for place, point in enumerate(POINTS):
        with console.status(f"SNR {point.snr_db:g} dB"):
            found, theory = simulate(point, options, place)
        mse = np.array([distortion.element_mse for distortion in theory])
        ratio, bias = variance_ratio(found, mse, level), mean_ratio(found, mse, level)
        verdict, unbiased = ratio.verdict(1.0, MARGIN), bias.verdict(0.0, MARGIN)
        failed |= verdict != "agrees" or unbiased != "agrees"
        for name, wrong in WRONG_THEORIES.items():
            wrong_mse = np.array([wrong(distortion) for distortion in theory])
            caught[name] += variance_ratio(found, wrong_mse, level).verdict(1.0) == "disagrees"
        variance = np.mean([d.model_variance(found.shape[1], RATE) for d in theory])
        table.add_row(
            f"{point.snr_db:g} dB",
            point.sharing.transmit_power,
            point.sharing.noise,
            f"{variance:.4g}",
            f"{ratio.estimate:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]",
            verdict,
            f"{bias.estimate:.4f} [{bias.low:.4f}, {bias.high:.4f}], {unbiased}",
        )
    console.print(table)
    console.print(
        f"Wrong theories, points of {len(POINTS)} at which they disagree: "
        + ", ".join(f"{name} {count}" for name, count in caught.items())
    )
    return int(failed or any(count < len(POINTS) for count in caught.values()))
