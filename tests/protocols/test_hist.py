"""HIST against whole networks with masked units, by hand in numpy, and against HFedAvg's bits and times."""

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from worlds import STEPS

from cosim import AfterRounds, ConfigurationError, Deadline, HFedAvg, Hist, Never, Sgd, System, evolve, run
from cosim.clock.simulation import Simulation
from cosim.data import Synthetic
from cosim.ends import EveryVersions
from cosim.engine.learning.learner import Learner
from cosim.engine.servers.cloud import Cloud
from cosim.protocols import EqualSizes, Fractions, SubmodelSizes
from cosim.recording.recorder import Recorder

RATE = 0.1
EQUAL = EqualSizes()
UNITS = 12
HIDDEN = f"relu-12-{UNITS}-4"
BITS_PER_UNIT = 32 * (12 + 4)


def system(
    num_cells: int = 3,
    model: str = HIDDEN,
    submodel_sizes: SubmodelSizes = EQUAL,
    batch_size: int = 200,
) -> System:
    """Two clients per cell of 200 samples each, on links of 2 bit/s/Hz without fading."""
    local = Sgd(batch_size=batch_size, learning_rate=RATE)
    return worlds.alike(
        *[2] * num_cells,
        seed=13,
        model=model,
        protocol=Hist(submodel_sizes=submodel_sizes, training=worlds.training(local=local)),
        end=AfterRounds(num_global_rounds=2),
    )


def run_of(system: System) -> tuple[Recorder, Learner, Cloud, list[np.ndarray]]:
    """The trace, the learner, the network and the global model's matrices."""
    sim, learner, cloud = worlds.built(system, num_workers=2)
    weights = learner.weights(sim.run(system.protocol.run(sim, cloud)))
    return sim.recorder, learner, cloud, list(weights.values())


def initial(learner: Learner, seed: int) -> list[np.ndarray]:
    model = learner.initial_model(Simulation(seed).key("cloud", "initial weights"))
    return [values.astype(float) for values in learner.weights(model).values()]


def masked_step(layers: list[np.ndarray], mask: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """One SGD step of the whole network whose first hidden layer is zero where the mask is."""
    inputs = [x]
    for depth, layer in enumerate(layers[:-1]):
        hidden = np.maximum(inputs[-1] @ layer.T, 0.0)
        inputs.append(hidden * mask if depth == 0 else hidden)
    scores = inputs[-1] @ layers[-1].T
    error = np.exp(scores - scores.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(len(y)), y] -= 1.0
    error /= len(y)
    stepped = []
    for layer, before in zip(reversed(layers), reversed(inputs), strict=True):
        stepped.append(layer - RATE * error.T @ before)
        error = (error @ layer) * (before > 0)
    return stepped[::-1]


def by_hand(system: System, cloud: Cloud, model: list[np.ndarray]) -> list[np.ndarray]:
    """Algorithm 1 on full networks: a cell changes its own units; the rest is the mean over cells."""
    dataset, training = loaded(Synthetic()), system.protocol.training
    for global_round in range(1, system.end.num_global_rounds + 1):
        parts = system.protocol.parts(Simulation(system.seed), cloud, global_round)
        masks, cells = [], []
        for edge, part in zip(cloud.edges, parts, strict=True):
            mask = np.zeros(UNITS)
            mask[part.units["hidden1"]] = 1.0
            edge_model = model
            for _ in range(training.num_edge_rounds):
                updates = []
                for client in edge.clients:
                    local = edge_model
                    for _ in range(STEPS):
                        x, y = dataset.train_x[client.samples], dataset.train_y[client.samples]
                        local = masked_step(local, mask, x.astype(float), y)
                    updates.append(local)
                edge_model = [np.mean(layers, axis=0) for layers in zip(*updates, strict=True)]
            masks.append(mask)
            cells.append(edge_model)
        np.testing.assert_array_equal(sum(masks), np.ones(UNITS))
        model = [
            sum(cell[0] * mask[:, None] for cell, mask in zip(cells, masks, strict=True)),
            sum(cell[1] * mask for cell, mask in zip(cells, masks, strict=True)),
            *(np.mean(layers, axis=0) for layers in zip(*(cell[2:] for cell in cells), strict=True)),
        ]
    return model


@pytest.mark.parametrize(
    ("num_cells", "model", "submodel_sizes"),
    [
        pytest.param(3, HIDDEN, EQUAL, id="equal parts"),
        pytest.param(3, HIDDEN, Fractions(values=(0.5, 0.25, 0.25)), id="unequal parts"),
        pytest.param(3, f"relu-12-{UNITS}-6-4", EQUAL, id="a last matrix that no part cuts"),
    ],
)
def test_global_model_is_that_of_masked_whole_networks(
    num_cells: int, model: str, submodel_sizes: SubmodelSizes
) -> None:
    case = system(num_cells, model, submodel_sizes)
    _, learner, cloud, found = run_of(case)
    start = initial(learner, case.seed)
    for values, wanted in zip(found, by_hand(case, cloud, start), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-4, atol=2e-6)
    assert all(np.abs(values - before).max() > 0.01 for values, before in zip(found, start, strict=True))


def test_one_cell_is_hfedavg() -> None:
    alone = system(num_cells=1, batch_size=10)
    whole = evolve(
        alone, protocol=HFedAvg(training=alone.protocol.training), end=AfterRounds(num_global_rounds=2)
    )
    (trace, _, _, found), (whole_trace, _, _, wanted) = run_of(alone), run_of(whole)
    for values, others in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(values, others)
    assert trace.spans == whole_trace.spans
    assert trace.rounds == whole_trace.rounds


@pytest.mark.parametrize("num_cells", [2, 3, 4])
def test_bits_computing_and_airtime_are_one_nth(num_cells: int) -> None:
    """Without fading and with everybody alike, HIST's rounds take exactly 1/N of HFedAvg's."""
    part = system(num_cells)
    whole = evolve(
        part, protocol=HFedAvg(training=part.protocol.training), end=AfterRounds(num_global_rounds=2)
    )
    (trace, _, _, _), (whole_trace, _, _, _) = run_of(part), run_of(whole)
    assert {row.payload_bits for row in trace.transfers} == {UNITS * BITS_PER_UNIT // num_cells}
    assert {row.payload_bits for row in whole_trace.transfers} == {UNITS * BITS_PER_UNIT}
    assert len(trace.transfers) == len(whole_trace.transfers) == 2 * 2 * 2 * num_cells
    end_s, whole_end_s = trace.rounds[-1].end_s, whole_trace.rounds[-1].end_s
    assert whole_end_s == pytest.approx(2 * 2 * (STEPS * 1e-3 + UNITS * BITS_PER_UNIT / 1e6), rel=1e-12)
    assert end_s == pytest.approx(whole_end_s / num_cells, rel=1e-12)
    energy_j, whole_energy_j = (sum(row.energy_j for row in t.spans) for t in (trace, whole_trace))
    assert energy_j == pytest.approx(whole_energy_j / num_cells, rel=1e-9)


def test_a_larger_part_sends_more_and_takes_longer() -> None:
    trace = run_of(system(2, HIDDEN, Fractions(values=(0.75, 0.25))))[0]
    bits = {row.edge: row.payload_bits for row in trace.transfers}
    assert bits == {"edge-00": 9 * BITS_PER_UNIT, "edge-01": 3 * BITS_PER_UNIT}
    ends_s = {row.node: row.end_s for row in trace.rounds if row.global_round == 1 and row.edge_round == 1}
    assert ends_s["edge-00"] == pytest.approx(2 * 0.75 * (3e-3 + UNITS * BITS_PER_UNIT / 1e6), rel=1e-12)
    assert ends_s["edge-01"] == pytest.approx(2 * 0.25 * (3e-3 + UNITS * BITS_PER_UNIT / 1e6), rel=1e-12)


def test_parts_are_drawn_anew_in_every_round_from_the_seed() -> None:
    case = system()
    cloud = run_of(case)[2]

    def units(seed: int, global_round: int) -> list[list[int]]:
        parts = case.protocol.parts(Simulation(seed), cloud, global_round)
        return [part.units["hidden1"].tolist() for part in parts]

    assert units(9, 1) == units(9, 1)
    assert len({str(units(seed, number)) for seed in (9, 10) for number in (1, 2, 3)}) == 6
    assert all(sorted(np.concatenate(units(9, n))) == list(range(UNITS)) for n in (1, 2, 3))


def test_a_cell_of_which_nothing_arrived_keeps_its_units() -> None:
    """Cell 1 never meets the deadline: its part of the assembled model is that of the start."""
    case = system(2, batch_size=300)
    training = evolve(case.protocol.training, waiting=Deadline(deadline_s=0.5))
    case = evolve(
        case,
        devices=worlds.processors(1e9, 1e9, 1e6, 1e6),
        protocol=evolve(case.protocol, training=training),
        end=AfterRounds(num_global_rounds=1),
    )
    trace, learner, cloud, (first, last) = run_of(case)
    assert {(row.node, row.num_arrived) for row in trace.rounds if row.level == "edge"} == {
        ("edge-00", 2),
        ("edge-01", 0),
    }
    trained, kept = (part.units["hidden1"] for part in case.protocol.parts(Simulation(case.seed), cloud, 1))
    first_before, last_before = initial(learner, case.seed)
    np.testing.assert_array_equal(first[kept], first_before[kept])
    np.testing.assert_array_equal(last[:, kept], last_before[:, kept])
    assert (first[trained] != first_before[trained]).any(axis=1).all()
    assert learner.num_local_steps == 2 * 2 * STEPS


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (system(4, "relu-12-3-4"), "4 cells for the 3 units of 'hidden1'"),
        (system(2, HIDDEN, Fractions(values=(0.5, 0.25, 0.25))), "Fractions.values has 3 values for 2 cells"),
        (system(2, HIDDEN, Fractions(values=(0.5, 0.25))), "sum to 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(wrong: System, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run_of(wrong)


def whole():
    """A network of a user's, which says nothing of what a cell may leave out."""
    return torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))


@pytest.mark.parametrize("evaluation", [EveryVersions(), Never()])
def test_a_network_that_declares_no_groups_of_units_has_two_ways_out(evaluation):
    own = evolve(system(num_cells=2), model=f"{__name__}:whole", evaluation=evaluation)
    with pytest.raises(ConfigurationError) as refused:
        run(own)
    assert str(refused.value) == (
        "Hist: every cell trains other units of the network, but System.model declares no groups of units "
        "(unit_groups). Use the protocol HFedAvg, in which every cell trains the whole model; or declare "
        "unit_groups in the network, such as {'hidden': (('0.weight', 0), ('2.weight', 1))}."
    )
    run(evolve(own, protocol=HFedAvg(training=own.protocol.training), evaluation=Never()))
