"""Does the clock agree with the closed form of a round's latency (HIST journal, eq. 18)?

With fixed shares, full participation and no deadline, the simulated duration of every global round must equal
the closed form to 1e-9 relative; this needs no interval, since nothing is random once the channels are drawn.
Wrong theories (the band divided twice as in eq. 19, natural instead of binary logarithm, the fastest client
instead of the slowest) must come out as *disagrees*. With redivided shares no round may be longer; how much
shorter they are is printed.

    cosim validate round-latency
"""

import math
from collections.abc import Callable

import attrs
import numpy as np
from rich.table import Table

import cosim
from analysis.closed_forms.round_latency import EdgeRoundLatency, global_round_s
from cosim.configuration import at_least, knob, not_empty, not_negative, part
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.jobs.job import Job
from cosim.networks.named import network_of
from cosim.radio.radio_link import RadioLink
from scenarios.command_line.console import console

TOLERANCE = 1e-9
BANDWIDTH_HZ = 20e6


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        num_cells: Cells, one validation each.
        num_global_rounds: Global rounds of each.
        seed: Names the channels and frequencies.
    """

    num_cells: tuple[int, ...] = knob(not_empty, at_least(1), default=(2, 4, 6))
    num_global_rounds: int = knob(at_least(1), default=50)
    seed: int = knob(not_negative, default=1)


def timing_only(num_cells: int, num_global_rounds: int, seed: int) -> cosim.System:
    """The scenario `hist` without learning."""
    data = cosim.FashionMnist(split=cosim.data.Iid())
    return cosim.System(
        num_cells=num_cells,
        seed=seed,
        data=data,
        uplink=cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=BANDWIDTH_HZ)),
        end=cosim.AfterRounds(num_global_rounds=num_global_rounds),
        evaluation=cosim.Never(),
    )


def blank_dataset(num_samples: int) -> Dataset:
    """Samples of the right shape for a model that is never trained: the validation needs no files."""
    x, y = np.zeros((num_samples, 784), dtype=np.float32), np.arange(num_samples) % 10
    return Dataset(name="blank", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=10)


def simulate(system: cosim.System) -> tuple[Cloud, np.ndarray]:
    """The network, and the duration in s of every global round, shape (rounds,)."""
    ground, dataset = ground_of(system), blank_dataset(system.num_clients)
    learner, sim = Learner(network_of(system.model), dataset), ground.sim
    cloud = nodes_of(system, ground, learner, lambda: dataset)
    sim.run(system.protocol.run(sim, cloud))
    rounds = [row for row in sim.recorder.rounds if row.level == "global"]
    return cloud, np.array([row.end_s - row.start_s for row in rounds])


def predict(
    system: cosim.System, cloud: Cloud, wrong: Callable[[EdgeRoundLatency], float] | None = None
) -> np.ndarray:
    """The closed form on the channels and frequencies of a network, s per global round, shape (rounds,)."""
    protocol = system.protocol
    assert isinstance(protocol, cosim.Hist)
    assert isinstance(protocol.training.steps, cosim.SameSteps)
    assert isinstance(system.cycles, cosim.devices.CyclesPerStep)
    model_bits = system.codec.bits(cloud.shape.num_parameters())
    latencies_s = []
    for global_round in range(1, cloud.progress.num_global_rounds + 1):
        parts = protocol.parts(cosim.Simulation(system.seed), cloud, global_round)
        cells = []
        for edge, submodel in zip(cloud.edges, parts, strict=True):
            assert isinstance(edge.route.uplink.link, RadioLink)
            job = Job.of_round(global_round, 0, protocol.training.num_edge_rounds)
            channels = [
                edge.route.uplink.link.channel(client.name, client.tx_power_w, job) for client in edge.clients
            ]
            gains = [channel.fading.gain((global_round,)) for channel in channels]
            snrs = [channel.mean_snr(BANDWIDTH_HZ) for channel in channels]
            cells.append(
                EdgeRoundLatency(
                    num_steps=protocol.training.steps.num_local_steps,
                    step_cycles=system.cycles.step_cycles,
                    model_bits=model_bits,
                    fraction=len(submodel.units["hidden1"]) / cloud.shape.num_units["hidden1"],
                    bandwidth_hz=BANDWIDTH_HZ,
                    frequency_hz=np.array([client.device.frequency_hz for client in edge.clients]),
                    snr=np.array(gains) * np.array(snrs),
                )
            )
        if wrong is None:
            latencies_s.append(global_round_s(protocol.training.num_edge_rounds, cells))
        else:
            latencies_s.append(protocol.training.num_edge_rounds * max(wrong(cell) for cell in cells))
    return np.array(latencies_s)


WRONG_THEORIES: dict[str, Callable[[EdgeRoundLatency], float]] = {
    "band divided twice (eq. 19)": lambda cell: (
        attrs.evolve(cell, bandwidth_hz=cell.bandwidth_hz / len(cell.snr)).cell_s
    ),
    "natural logarithm": lambda cell: (
        attrs.evolve(cell, bandwidth_hz=cell.bandwidth_hz * math.log(2.0)).cell_s
    ),
    "fastest client": lambda cell: float(np.min(cell.client_s)),
}


def compare(simulated_s: np.ndarray, predicted_s: np.ndarray) -> tuple[float, str]:
    """Largest relative difference over all rounds, and the verdict."""
    difference = float(np.max(np.abs(simulated_s / predicted_s - 1.0)))
    return difference, "agrees" if difference <= TOLERANCE else "disagrees"


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    table = Table(title=f"Global rounds: clock against closed form ({options.num_global_rounds} rounds each)")
    for heading in ("cells", "theory", "largest relative difference", "verdict", "must be"):
        table.add_column(heading)
    failed = False
    for num_cells in options.num_cells:
        system = timing_only(num_cells, options.num_global_rounds, options.seed)
        cloud, simulated_s = simulate(system)
        theories = {"eq. 18": None, **WRONG_THEORIES}
        for name, theory in theories.items():
            difference, verdict = compare(simulated_s, predict(system, cloud, theory))
            wanted = "agrees" if theory is None else "disagrees"
            failed |= verdict != wanted
            table.add_row(str(num_cells), name, f"{difference:.2e}", verdict, wanted)
        radio = cosim.Radio(sharing=cosim.radio.RedividedShares(bandwidth_hz=BANDWIDTH_HZ))
        redivided_s = simulate(cosim.evolve(system, uplink=radio))[1]
        shorter = 1.0 - redivided_s / simulated_s
        longest = bool(np.all(shorter >= -TOLERANCE))
        failed |= not longest
        mean, least, most = (100 * value for value in (shorter.mean(), shorter.min(), shorter.max()))
        verdict = f"shorter by {mean:.1f} % ({least:.1f} to {most:.1f} %)"
        table.add_row(
            str(num_cells),
            "redivided shares",
            verdict,
            "never longer" if longest else "longer",
            "never longer",
        )
    console.print(table)
    return int(failed)
