"""HFedAvg against a loop written by hand in numpy, and against the arithmetic of its rounds."""

from collections.abc import Iterator

import numpy as np
import pytest
import worlds
from data_sets import loaded
from worlds import BITS, STEPS

from cosim import AfterRounds, Deadline, HFedAvg, Sgd, System, evolve
from cosim.clock.simulation import Simulation
from cosim.data import Synthetic
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.engine.servers.cloud import Cloud
from cosim.jobs.job import Job
from cosim.recording.recorder import Recorder
from cosim.training.programs.sgd_steps import mini_batches

RATE = 0.1

Matrices = tuple[np.ndarray, np.ndarray]


def system(cell_sizes: tuple[int, ...] = (2, 3), num_edge_rounds: int = 2, batch_size: int = 7) -> System:
    """Everybody alike, on links of 2 bit/s/Hz without fading."""
    training = worlds.training(
        num_edge_rounds=num_edge_rounds, local=Sgd(batch_size=batch_size, learning_rate=RATE)
    )
    return worlds.alike(
        *cell_sizes, seed=5, protocol=HFedAvg(training=training), end=AfterRounds(num_global_rounds=2)
    )


def run_of(system: System) -> tuple[Recorder, Learner, Cloud, Matrices]:
    """The trace, the learner, the network and the global model's two matrices."""
    sim, learner, cloud = worlds.built(system, num_workers=2)
    return sim.recorder, learner, cloud, matrices(learner.weights(sim.run(system.protocol.run(sim, cloud))))


def matrices(weights: dict[str, np.ndarray]) -> Matrices:
    first, last = (values.astype(float) for values in weights.values())
    return first, last


def initial(learner: Learner, seed: int) -> Matrices:
    return matrices(learner.weights(learner.initial_model(Simulation(seed).key("cloud", "initial weights"))))


def sgd_step(weights: Matrices, x: np.ndarray, y: np.ndarray) -> Matrices:
    """One step on the mean cross entropy of softmax(V relu(W x)), in float64."""
    first, last = weights
    hidden = np.maximum(x @ first.T, 0.0)
    scores = hidden @ last.T
    error = np.exp(scores - scores.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(len(y)), y] -= 1.0
    error /= len(y)
    back = (error @ last) * (hidden > 0)
    return first - RATE * back.T @ x, last - RATE * error.T @ hidden


def mean(weights: list[Matrices]) -> Matrices:
    return sum(w[0] for w in weights) / len(weights), sum(w[1] for w in weights) / len(weights)


def batches(
    dataset: Dataset, samples: np.ndarray, batch_size: int, key: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A client's mini-batches: all its samples where they fit one batch, whatever their order."""
    for indices in (
        [samples] * STEPS if batch_size == len(samples) else mini_batches(samples, STEPS, batch_size, key)
    ):
        yield dataset.train_x[indices].astype(float), dataset.train_y[indices]


def by_hand(system: System, cloud: Cloud, model: Matrices) -> Matrices:
    """The textbook's loops."""
    dataset, names, training = loaded(Synthetic()), Simulation(system.seed), system.protocol.training
    for global_round in range(1, system.end.num_global_rounds + 1):
        cells = []
        for edge in cloud.edges:
            edge_model = model
            for edge_round in range(training.num_edge_rounds):
                updates = []
                job = Job.of_round(global_round, edge_round, training.num_edge_rounds)
                for client in edge.clients:
                    key = names.key(client.name, "mini-batches", job.number)
                    local = edge_model
                    for x, y in batches(dataset, client.samples, training.local.batch_size, key):
                        local = sgd_step(local, x, y)
                    updates.append(local)
                edge_model = mean(updates)
            cells.append(edge_model)
        model = mean(cells)
    return model


def assert_close(found: Matrices, expected: Matrices) -> None:
    for values, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize(
    ("cell_sizes", "num_edge_rounds", "batch_size"),
    [
        pytest.param((2, 3), 2, 240, id="full batches"),
        pytest.param((2, 3), 2, 7, id="mini-batches, cells of different size"),
        pytest.param((4,), 1, 300, id="plain FedAvg"),
    ],
)
def test_global_model_is_that_of_the_loop_by_hand(
    cell_sizes: tuple[int, ...], num_edge_rounds: int, batch_size: int
) -> None:
    case = system(cell_sizes, num_edge_rounds, batch_size)
    _, learner, cloud, found = run_of(case)
    start = initial(learner, case.seed)
    assert_close(found, by_hand(case, cloud, start))
    moved = max(float(np.abs(a - b).max()) for a, b in zip(found, start, strict=True))
    assert moved > 0.05  # so that the tolerance tells a model that was trained from one that was not


def test_cells_weigh_the_same_whatever_their_size() -> None:
    """The loop that weighs cells by their clients is another model."""
    case = system((1, 4), num_edge_rounds=1, batch_size=240)
    case = evolve(case, end=AfterRounds(num_global_rounds=1))
    _, learner, cloud, found = run_of(case)
    assert_close(found, by_hand(case, cloud, initial(learner, case.seed)))
    flat = evolve(case, num_cells=1, cell_sizes=None)
    by_clients = run_of(flat)[3]
    assert max(float(np.abs(a - b).max()) for a, b in zip(found, by_clients, strict=True)) > 1e-3


def test_a_cell_of_which_nothing_arrived_sends_the_model_it_got() -> None:
    """Cell 0 has 1 GHz and is in time, cell 1 has 1 MHz and never is; the cloud takes the mean of both."""
    case = evolve(system((2, 2), 1, 300), devices=worlds.processors(1e9, 1e9, 1e6, 1e6))
    training = evolve(case.protocol.training, waiting=Deadline(deadline_s=1.0))
    case = evolve(case, protocol=HFedAvg(training=training), end=AfterRounds(num_global_rounds=1))
    trace, learner, cloud, found = run_of(case)
    arrived = {row.node: row.num_arrived for row in trace.rounds if row.level == "edge"}
    assert arrived == {"edge-00": 2, "edge-01": 0}
    start, dataset = initial(learner, case.seed), loaded(Synthetic())
    updates = []
    for client in cloud.edges[0].clients:
        local = start
        for x, y in batches(dataset, client.samples, 300, key=0):
            local = sgd_step(local, x, y)
        updates.append(local)
    assert_close(found, mean([mean(updates), start]))
    assert learner.num_local_steps == 2 * STEPS


def test_global_round_lasts_as_long_as_its_slowest_cell() -> None:
    """3 ms of computing; 4096 bits at 2 bit/s/Hz of 1 MHz over the clients of the cell."""
    trace = run_of(system((2, 3)))[0]
    whole = [row.end_s for row in trace.rounds if row.level == "global"]
    slow_s = 2 * (3e-3 + BITS / (2e6 / 3))
    assert whole == [pytest.approx(slow_s, rel=1e-12), pytest.approx(2 * slow_s, rel=1e-12)]
    quick = [row.end_s for row in trace.rounds if row.node == "edge-00"]
    assert quick[1] == pytest.approx(2 * (3e-3 + BITS / 1e6), rel=1e-12)
    assert {row.payload_bits for row in trace.transfers} == {BITS}
    rounds = [row for row in trace.rounds if row.level == "global"]
    assert [(row.num_participants, row.num_arrived, row.edge_round) for row in rounds] == [(2, 2, -1)] * 2
