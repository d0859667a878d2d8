"""Does the clock agree with airtime and latency of over-the-air sums (HIST journal, eqs. 37 to 39)?

With full participation and no deadline, every sum must last as long as eq. 37 says, every edge round as eq.
38 and every global round as eq. 39, to 1e-9 relative; no interval is needed, since nothing is random once the
processors are drawn. HFedAvg, HIST with equal sizes and HIST with latency-optimal sizes are compared, for
several n_j. Wrong theories (airtime times n_j, symbols of 1 ms, the rate of eq. 18 in place of airtime, the
fastest client instead of the slowest) must come out as *disagrees*.

    cosim validate aircomp-latency
"""

from collections.abc import Callable

import attrs
import numpy as np
from rich.table import Table

import cosim
from analysis.closed_forms.over_the_air import AirEdgeRoundLatency, global_round_s
from analysis.closed_forms.round_latency import EdgeRoundLatency
from cosim.configuration import at_least, knob, not_empty, not_negative, part
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.engine.store.row_groups import RowGroups
from cosim.networks.named import network_of
from scenarios.command_line.console import console
from scenarios.validate.round_latency import blank_dataset, compare

__all__ = ["Options", "main"]

NUM_CELLS = 4
BANDWIDTH_HZ = 20e6


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        clients_per_cell: Clients n_j, one validation each.
        num_global_rounds: Global rounds of each.
        seed: Names the processors.
    """

    clients_per_cell: tuple[int, ...] = knob(not_empty, at_least(2), default=(5, 15, 30))
    num_global_rounds: int = knob(at_least(1), default=20)
    seed: int = knob(not_negative, default=1)


def systems(per_cell: int, options: Options) -> dict[str, cosim.System]:
    """Systems that are clocked, nothing learned; slow processors in the first half of the cells."""
    return {
        name: cosim.System(
            seed=options.seed,
            num_cells=NUM_CELLS,
            num_clients=NUM_CELLS * per_cell,
            data=cosim.FashionMnist(split=cosim.data.Iid()),
            uplink=cosim.Radio(
                sharing=cosim.radio.OverTheAir(bandwidth_hz=BANDWIDTH_HZ),
                fading=cosim.Rayleigh(redrawn=cosim.radio.EveryEdgeRound()),
            ),
            protocol=protocol,
            end=cosim.AfterRounds(num_global_rounds=options.num_global_rounds),
            evaluation=cosim.Never(),
        )
        for name, protocol in (
            ("HFedAvg", cosim.HFedAvg()),
            ("HIST", cosim.Hist()),
            (
                "HIST, optimal sizes",
                cosim.Hist(submodel_sizes=cosim.protocols.LatencyOptimal()),
            ),
        )
    }


def simulate(system: cosim.System) -> tuple[Cloud, cosim.Result]:
    """The network, and what it did."""
    ground, dataset = ground_of(system), blank_dataset(system.num_clients)
    learner, sim = Learner(network_of(system.model), dataset), ground.sim
    cloud = nodes_of(system, ground, learner, lambda: dataset)
    sim.run(system.protocol.run(sim, cloud))
    return cloud, RowGroups(sim.recorder, system.num_clients).result({}, "complete", sim.now_s)


def cells(system: cosim.System, cloud: Cloud, global_round: int) -> list[AirEdgeRoundLatency]:
    """The closed form of each cell's edge rounds."""
    protocol, num_parameters = system.protocol, cloud.shape.num_parameters()
    assert isinstance(protocol, cosim.Hist | cosim.HFedAvg)
    assert isinstance(protocol.training, cosim.EdgeTraining)
    assert isinstance(protocol.training.steps, cosim.SameSteps)
    assert isinstance(system.cycles, cosim.devices.CyclesPerStep)
    sizes = [num_parameters] * NUM_CELLS
    if isinstance(protocol, cosim.Hist):
        parts = protocol.parts(cosim.Simulation(system.seed), cloud, global_round)
        sizes = [cloud.shape.num_parameters(part) for part in parts]
    return [
        AirEdgeRoundLatency(
            num_steps=protocol.training.steps.num_local_steps,
            step_cycles=system.cycles.step_cycles,
            num_parameters=num_parameters,
            fraction=size / num_parameters,
            bandwidth_hz=BANDWIDTH_HZ,
            subchannel_hz=15e3,
            symbol_s=1e-3 / 14.0,
            frequency_hz=np.array([client.device.frequency_hz for client in edge.clients]),
        )
        for edge, size in zip(cloud.edges, sizes, strict=True)
    ]


def by_rate(cell: AirEdgeRoundLatency) -> float:
    """Eq. 18 with 30 dB for everyone."""
    return EdgeRoundLatency(
        num_steps=cell.num_steps,
        step_cycles=cell.step_cycles,
        model_bits=32 * cell.num_parameters,
        fraction=cell.fraction,
        bandwidth_hz=cell.bandwidth_hz,
        frequency_hz=cell.frequency_hz,
        snr=np.full(len(cell.frequency_hz), 1e3),
    ).cell_s


Theory = Callable[[AirEdgeRoundLatency], float]
WRONG_THEORIES: dict[str, Theory] = {
    "airtime times n_j": lambda cell: (
        attrs.evolve(cell, symbol_s=cell.symbol_s * len(cell.frequency_hz)).cell_s
    ),
    "1 ms a symbol": lambda cell: attrs.evolve(cell, symbol_s=1e-3).cell_s,
    "rate of eq. 18": by_rate,
    "fastest client": lambda cell: float(np.min(cell.computing_s)) + cell.airtime_s,
}


def compared(system: cosim.System) -> dict[str, dict[str, tuple[float, str]]]:
    """By theory and equation: largest relative difference between clock and closed form, and verdict."""
    cloud, result = simulate(system)
    protocol = system.protocol
    assert isinstance(protocol, cosim.Hist | cosim.HFedAvg)
    assert isinstance(protocol.training, cosim.EdgeTraining)
    assert isinstance(system.cycles, cosim.devices.CyclesPerStep)
    num_edge_rounds = protocol.training.num_edge_rounds
    predicted = [cells(system, cloud, number) for number in range(1, cloud.progress.num_global_rounds + 1)]
    rounds = result.rounds.assign(duration_s=result.rounds["end_s"] - result.rounds["start_s"])
    edge_s = rounds[rounds["level"] == "edge"].sort_values(["global_round", "edge_round", "node"])
    global_s = rounds[rounds["level"] == "global"]["duration_s"].to_numpy()

    def of(theory: Theory) -> dict[str, tuple[float, str]]:
        cell_s = np.array([[theory(cell) for cell in row] for row in predicted])
        return {
            "eq. 38": compare(
                edge_s["duration_s"].to_numpy(), np.repeat(cell_s, num_edge_rounds, axis=0).ravel()
            ),
            "eq. 39": compare(global_s, num_edge_rounds * cell_s.max(axis=1)),
        }

    right = of(lambda cell: cell.cell_s)
    right["eq. 39"] = compare(global_s, np.array([global_round_s(num_edge_rounds, row) for row in predicted]))
    sums = {"eq. 37": compare(*airtimes(result, predicted, num_edge_rounds))}
    return {"right": sums | right} | {name: of(theory) for name, theory in WRONG_THEORIES.items()}


def airtimes(
    result: cosim.Result, predicted: list[list[AirEdgeRoundLatency]], num_edge_rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """How long every client sent in every edge round, and eq. 37, cell by cell, shape (sums of clients,)."""
    cell_of = dict(zip(result.uploads["client"], result.uploads["edge"], strict=True))
    sends = result.spans[(result.spans["activity"] == "send") & result.spans["node"].isin(cell_of)]
    sends = sends.assign(edge=sends["node"].map(cell_of)).sort_values(["edge", "end_s"])
    airtime_s = np.array([[cell.airtime_s for cell in row] for row in predicted]).T
    clients = [len(cell.frequency_hz) for cell in predicted[0]]
    expected = [np.repeat(row, num_edge_rounds * n) for row, n in zip(airtime_s, clients, strict=True)]
    return (sends["end_s"] - sends["start_s"]).to_numpy(), np.concatenate(expected)


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    table = Table(
        title=f"Sums over the air, clock against closed form: largest relative difference in "
        f"{options.num_global_rounds} global rounds"
    )
    for heading in ("n_j", "system", "eq. 37", "eq. 38", "eq. 39", "verdict"):
        table.add_column(heading)
    failed, caught, num_points = False, dict.fromkeys(WRONG_THEORIES, 0), 0
    for per_cell in options.clients_per_cell:
        for name, system in systems(per_cell, options).items():
            theories = compared(system)
            right = theories.pop("right")
            agrees = all(verdict == "agrees" for _, verdict in right.values())
            failed |= not agrees
            differences = (f"{difference:.1e}" for difference, _ in right.values())
            table.add_row(str(per_cell), name, *differences, "agrees" if agrees else "disagrees")
            for wrong, verdicts in theories.items():
                caught[wrong] += all(verdict == "disagrees" for _, verdict in verdicts.values())
            num_points += 1
    console.print(table)
    console.print(
        f"Wrong theories, systems of {num_points} where they disagree: "
        + ", ".join(f"{name} {count}" for name, count in caught.items())
    )
    return int(failed or any(count < num_points for count in caught.values()))
