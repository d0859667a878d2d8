"""Training on recurring rows: equal to torch.optim.SGD on the whole mini-batches of the same samples."""

from collections import Counter
from collections.abc import Hashable
from functools import partial

import numpy as np
import pytest
import torch
from sgd_loop import trained_by_sgd
from torch import nn

import models
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.cohorts import WORKING_SETS, cohorts
from cosim.engine.learning.learner import Learner
from cosim.tasks.classification import Classification
from cosim.training.programs.descents import SgdStep
from cosim.training.programs.of_rule import program_of
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.training.training_set import TrainingSet
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate
from scenarios.papers.rawhfl import recurring_rows
from scenarios.papers.rawhfl.accumulated import accumulate
from scenarios.papers.rawhfl.recurring_rows import RecurringRows, draws, train_on_rows
from scenarios.papers.vhfl.vertical import VerticalSgd

pytestmark = pytest.mark.usefixtures("one_thread")

NUM_FEATURES, NUM_CLASSES, NUM_ROWS = 12, 5, 60
TABLE_ND = np.random.default_rng(2).standard_normal((NUM_ROWS, NUM_FEATURES), np.float32)
DATA = Dataset(
    name="rows",
    train_x=TABLE_ND,
    train_y=None,
    batching=RecurringRows,
    test_x=TABLE_ND[:7],
    test_y=np.arange(7) % NUM_CLASSES,
    num_classes=NUM_CLASSES,
)
NETWORKS = ("relu-12-9-8-5", "mlp-12-9-8-5", "mlp-12-5", "undeclared")


def network_of(name: str) -> nn.Module:
    if name != "undeclared":
        return models.build(name)
    return nn.Sequential(nn.Linear(NUM_FEATURES, 7), nn.Tanh(), nn.Linear(7, NUM_CLASSES))


def an_update(start: PendingModel, i: int, num_rows: int = 6, num_samples: int = 20, **changes):
    """Samples of `num_rows` rows of its own, with labels that often repeat."""
    rng = np.random.default_rng(i)
    rows = rng.permutation(NUM_ROWS)[:num_rows]
    rows_of_samples = np.concatenate([rows, rng.choice(rows, num_samples - num_rows)])
    samples = rows_of_samples * NUM_CLASSES + rng.integers(0, NUM_CLASSES, num_samples)
    work = {"num_steps": 5, "training": Sgd(batch_size=32, learning_rate=0.3), "key": i}
    return PendingUpdate(client=f"client{i:03}", model=start, samples=samples, **(work | changes))


def trained_alone(network: nn.Module, start: dict, update: PendingUpdate) -> dict[str, np.ndarray]:
    """The weights after torch.optim.SGD on the whole mini-batches."""
    network.load_state_dict({n: torch.as_tensor(values) for n, values in start.items()})
    rows, labels = divmod(np.arange(NUM_ROWS * NUM_CLASSES), NUM_CLASSES)
    trained_by_sgd(network, update, TABLE_ND[rows], labels)
    return {n: p.detach().numpy().copy() for n, p in network.named_parameters()}


def assert_close(found: dict, expected: dict) -> None:
    assert list(found) == list(expected)
    for n in found:
        np.testing.assert_allclose(found[n], expected[n], rtol=1e-4, atol=2e-6, err_msg=n)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_cohort_of_mixed_sizes_trains_as_its_clients_alone(name: str):
    """Other steps, other numbers of rows and samples, one sample only, rows that a batch leaves out."""
    settled, network = PendingModel(), network_of(name)
    sizes = [(6, 20, 3), (25, 90, 9), (1, 1, 1), (12, 12, 9), (3, 70, 5), (1, 4, 9)]
    cohort = [
        an_update(settled, i, num_rows, num_samples, num_steps=num_steps)
        for i, (num_rows, num_samples, num_steps) in enumerate(sizes)
    ]
    generator = torch.Generator().manual_seed(1)
    weights_C = {
        n: 0.5 * torch.randn(6, *p.shape, generator=generator) for n, p in network.named_parameters()
    }
    starts = [{n: values_C[c].clone() for n, values_C in weights_C.items()} for c in range(6)]
    with torch.no_grad():
        table_ND, begin = torch.tensor(TABLE_ND), partial(SgdStep, rate=cohort[0].training.learning_rate)
        train_on_rows(network_of(name), weights_C, table_ND, NUM_CLASSES, cohort, begin)
    for c, (start, update) in enumerate(zip(starts, cohort, strict=True)):
        expected = trained_alone(network, start, update)
        assert_close({n: values_C[c].numpy() for n, values_C in weights_C.items()}, expected)
        assert max(np.abs(expected[n] - start[n].numpy()).max() for n in expected) > 0.01


@pytest.mark.parametrize("name", NETWORKS)
def test_two_rounds_equal_a_sequential_loop(name: str):
    learner, network = Learner(network_of(name), DATA, num_workers=2), network_of(name)
    model = learner.initial_model(key=3)
    expected = learner.weights(model)
    coefficients = np.linspace(0.1, 0.4, 9)
    for round_ in range(2):
        updates = [an_update(model, i, 3 + i, num_steps=1 + i, key=10 * round_ + i) for i in range(9)]
        alone = [trained_alone(network, expected, u) for u in updates]
        expected = {
            n: w + sum(c * (a[n] - w) for c, a in zip(coefficients, alone, strict=True))
            for n, w in expected.items()
        }
        model = accumulate(model, updates, coefficients.tolist())
    assert_close(learner.weights(model), expected)
    assert learner.num_local_steps == 2 * 45


@pytest.mark.parametrize("name", NETWORKS[1:])
def test_same_bits_with_any_number_of_workers(name: str):
    def trained(num_workers: int) -> dict[str, np.ndarray]:
        learner = Learner(network_of(name), DATA, num_workers=num_workers)
        model = learner.initial_model(key=3)
        for round_ in range(2):
            model = mean([an_update(model, i, 2 + i % 9, num_steps=1 + (i + round_) % 7) for i in range(40)])
        return learner.weights(model)

    first = trained(1)
    for num_workers in (1, 2, 3):
        again = trained(num_workers)
        assert all(np.array_equal(first[n], again[n]) for n in first)


def test_draws_count_the_samples_of_every_batch():
    update = an_update(
        PendingModel(), 4, num_rows=9, num_samples=40, num_steps=6, training=Sgd(batch_size=27)
    )
    drawn = draws(update, NUM_CLASSES)
    numbers = drawn.rows_R[drawn.outputs_P // NUM_CLASSES] * NUM_CLASSES + drawn.outputs_P % NUM_CLASSES
    assert len(drawn.rows_R) == 9
    assert sorted(set(update.samples.tolist())) == numbers.tolist()
    assert len(numbers) < 40  # some sample came twice
    batches = mini_batches(update.samples, 6, 27, update.key)
    for step, batch in enumerate(batches):
        of_samples, of_rows = Counter(batch.tolist()), Counter((batch // NUM_CLASSES).tolist())
        assert drawn.sample_counts_SP[step].tolist() == [of_samples[n] for n in numbers.tolist()]
        assert drawn.row_counts_SR[step].tolist() == [of_rows[r] for r in drawn.rows_R.tolist()]


def test_steps_do_not_part_clients_but_rows_far_apart_and_rates_do():
    start = PendingModel()
    start.settle({"w": torch.zeros(2)})
    data = TrainingSet(DATA, "cpu", Classification())
    alike = [an_update(start, i, 5 + i % 4, num_steps=1 + i) for i in range(8)]
    others = [
        an_update(start, 8, 9),
        an_update(start, 9, training=Sgd(batch_size=32, learning_rate=0.1)),
        an_update(start, 10, training=Sgd(batch_size=8, learning_rate=0.3)),
    ]

    def shared(update: PendingUpdate) -> Hashable:
        return program_of(update.training).shared(update, data)

    working_set = WORKING_SETS["cpu"]._replace(num_cohorts=1)
    assert [len(c) for c in cohorts([*alike, *others], 12, working_set, shared)] == [8, 1, 1, 1]
    assert len(list(cohorts(alike, 12, working_set))) == 8


def test_only_distinct_rows_pass_through_the_network(monkeypatch: pytest.MonkeyPatch):
    seen = []

    class Noted(recurring_rows.ReluPasses):
        def forward(self):
            seen.append(tuple(self.scores_CBK.shape[:2]))
            return super().forward()

    monkeypatch.setattr(recurring_rows, "ReluPasses", Noted)
    learner = Learner(models.build("mlp-12-9-5"), DATA, num_workers=1)
    start = learner.initial_model(key=3)
    learner.weights(
        mean(
            [
                an_update(start, i, 6, num_steps=1 + i, training=Sgd(batch_size=300, learning_rate=0.3))
                for i in range(4)
            ]
        )
    )
    # Cohorts of clients 0 and 1 (1 and 2 steps) and of clients 2 and 3 (3 and 4 steps).
    assert seen == [(2, 6), (1, 6)] + 3 * [(2, 6)] + [(1, 6)]


def test_numbers_beyond_the_table_are_refused():
    learner = Learner(models.build("mlp-12-9-5"), DATA)
    work = {"num_steps": 1, "training": Sgd(batch_size=1, learning_rate=0.1), "key": 1}
    start = learner.initial_model(key=3)
    last = PendingUpdate(client="near", model=start, samples=[299], **work)
    learner.weights(mean([last]))
    for samples, run in (([3, 300], "3 to 300"), ([-1, 5], "-1 to 5")):
        beyond = PendingUpdate(client="far", model=start, samples=samples, **work)
        message = rf"'far' run from {run}, but the training set has 300 numbers row \* 5 \+ label"
        with pytest.raises(ConfigurationError, match=message):
            learner.weights(mean([beyond]))


def test_vertical_training_needs_labels():
    learner = Learner(models.build("mlp-12-9-5"), DATA)
    update = PendingUpdate(
        client="north",
        model=learner.initial_model(key=3),
        samples=[1, 2],
        num_steps=1,
        training=VerticalSgd(batch_size=2),
        key=1,
    )
    with pytest.raises(ConfigurationError, match=r"'north' trains vertically .* without train_y"):
        learner.weights(mean([update]))
