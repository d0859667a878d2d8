"""Networks, tasks, metrics and train functions that write into what they are given change no data."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

import cosim
from cosim.engine.learning.learner import Learner
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.papers.rawhfl.recurring_rows import RecurringRows
from scenarios.papers.vhfl.vertical import VerticalSgd

RNG = np.random.default_rng(1)
NUM_FEATURES, NUM_CLASSES = 12, 4
X = RNG.standard_normal((200, NUM_FEATURES)).astype(np.float32)
LABELS = X[:, :NUM_CLASSES].argmax(1)
QUANTITIES = X @ RNG.standard_normal(NUM_FEATURES).astype(np.float32)


class Reads(nn.Module):
    """A network that divides its samples by 16."""

    def __init__(self, num_outputs: int = NUM_CLASSES) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(NUM_FEATURES, 8), nn.Linear(8, num_outputs)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x / 16)))


class Writes(Reads):
    """The same, and its samples are what it has made of them."""

    def forward(self, x):
        x /= 16
        return self.last(torch.tanh(self.first(x)))


def reads():
    return Reads()


def writes():
    return Writes()


class Shifted(cosim.tasks.Classification):
    """Classes from 1 on, and twice the outputs, in its own memory."""

    def loss(self, outputs, targets):
        return nn.functional.cross_entropy(outputs * 2, targets + 1 - 1)

    def sums(self, outputs, targets):
        return {
            "accuracy": ((2 * outputs).argmax(1) + 1 == targets + 1).sum(),
            "loss_nats": (2 * outputs.double()).square().sum(),
        }


class ShiftedInPlace(Shifted):
    """The same, in the memory that it is given."""

    def loss(self, outputs, targets):
        targets += 1
        targets -= 1
        return nn.functional.cross_entropy(outputs * 2, targets)

    def sums(self, outputs, targets):
        targets += 1
        outputs *= 2
        return {
            "accuracy": (outputs.argmax(1) + 1 == targets).sum(),
            "loss_nats": outputs.double().square().sum(),
        }


class First(cosim.tasks.Metric):
    """A metric that writes into all that it is given."""

    reads_owners: ClassVar[bool] = True

    def measures(self, dataset) -> Mapping[str, cosim.records.Measure]:
        return {type(self).__name__.lower(): cosim.records.Measure("a number", higher_is_better=True)}

    def scores(self, answers):
        found = float(answers.outputs.sum() + answers.targets.sum() + answers.owners.sum())
        answers.outputs[:], answers.targets[:], answers.owners[:] = 0.0, 0, 0
        return {type(self).__name__.lower(): found}


class Second(First):
    """Another one, which finds what the first one has found."""


OWN = tuple(f"{__name__}:{kind.__name__}" for kind in (First, Second))


def a_learner(
    network: nn.Module, y, task: cosim.tasks.Task
) -> tuple[Learner, cosim.data.Dataset, list[np.ndarray]]:
    """On samples of which the last fifty are the test set; of each array a copy."""
    owners = None if y.dtype == np.float32 else np.arange(50) % 5
    dataset = cosim.data.Dataset(
        name="own",
        train_x=X[:150].copy(),
        train_y=y[:150].copy(),
        test_x=X[150:].copy(),
        test_y=y[150:].copy(),
        num_classes=None if y.dtype == np.float32 else NUM_CLASSES,
        test_owners=owners,
    )
    before = [own.copy() for own in arrays(dataset)]
    return Learner(network, dataset, num_workers=2, task=task), dataset, before


def arrays(dataset: cosim.data.Dataset) -> list[np.ndarray]:
    found = (dataset.train_x, dataset.train_y, dataset.test_x, dataset.test_y, dataset.test_owners)
    return [array for array in found if array is not None]


@pytest.mark.parametrize(
    ("y", "tasks"),
    [
        (LABELS, (cosim.tasks.Classification(metrics=OWN), cosim.tasks.Classification(metrics=OWN))),
        (LABELS, (Shifted(metrics=OWN), ShiftedInPlace(metrics=OWN))),
        (QUANTITIES, (cosim.tasks.Regression(), cosim.tasks.Regression())),
    ],
    ids=["classes", "own task", "quantities"],
)
def test_a_model_has_the_same_scores_whenever_it_is_evaluated(y, tasks):
    found = []
    for kind, task in zip((Reads, Writes), tasks, strict=True):
        network = kind(NUM_CLASSES if y is LABELS else 1)
        learner, dataset, before = a_learner(network, y, task)
        model = learner.initial_model(key=3)
        groups = [np.arange(40), np.arange(30, 90)]
        for _ in range(2):
            found.append((learner.evaluate(model), learner.losses(model, groups).tolist()))
        if y is LABELS:
            assert len(set(learner.answers(model).label_ranks)) > 1
        for array, own in zip(arrays(dataset), before, strict=True):
            np.testing.assert_array_equal(array, own)
    assert found == [found[0]] * 4
    if y is LABELS:
        assert found[0][0]["first"] == found[0][0]["second"] != 0.0


def data(_):
    return (X[:150], LABELS[:150]), (X[150:], LABELS[150:])


def train(network, batches, state, rng):
    """Plain steps on data that is scaled and shifted in its own memory."""
    for x, y in batches:
        loss = nn.functional.cross_entropy(network(x.clone() / 2), y)
        _descend(network, loss)


def train_in_place(network, batches, state, rng):
    """The same, in the memory that it is given."""
    for x, y in batches:
        x /= 2
        y += 1
        y -= 1
        _descend(network, nn.functional.cross_entropy(network(x), y))


def _descend(network: nn.Module, loss: torch.Tensor) -> None:
    network.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter -= 0.3 * parameter.grad


@pytest.mark.parametrize(
    ("networks", "locals_", "tasks"),
    [
        (("reads", "writes"), ("sgd", "sgd"), (None, None)),
        (("reads", "writes"), ("train", "train_in_place"), (None, None)),
        (("reads", "reads"), ("sgd", "sgd"), (Shifted(), ShiftedInPlace())),
    ],
    ids=["batched", "own function", "own task"],
)
def test_a_run_that_writes_ends_as_one_that_does_not(networks, locals_, tasks):
    before, ends = [X.copy(), LABELS.copy()], []
    for network, local, task in zip(networks, locals_, tasks, strict=True):
        rule = (
            cosim.Sgd(batch_size=8, learning_rate=0.3)
            if local == "sgd"
            else cosim.training.TorchFunction(batch_size=8, function=f"{__name__}:{local}")
        )
        system = cosim.System(
            num_cells=1,
            num_clients=3,
            model=f"{__name__}:{network}",
            data=cosim.Arrays(source=f"{__name__}:data"),
            protocol=cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=1, local=rule)),
            task=task,
            end=cosim.AfterRounds(num_global_rounds=2),
        )
        ends.append(cosim.run(system).evaluations[["accuracy", "loss_nats"]].to_numpy())
    np.testing.assert_array_equal(*ends)
    assert (ends[0][0] != ends[0][-1]).any()
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(LABELS, before[1])


def test_rows_that_recur_are_the_same_at_every_step():
    dataset = cosim.data.Dataset(
        name="rows",
        train_x=X[:20],
        train_y=None,
        batching=RecurringRows,
        test_x=X,
        test_y=LABELS,
        num_classes=NUM_CLASSES,
    )
    samples = RNG.integers(20 * NUM_CLASSES, size=40)
    ends = []
    for network in (Reads(), Writes()):
        learner = Learner(network, dataset, num_workers=1)
        work = {"num_steps": 4, "training": cosim.Sgd(batch_size=8, learning_rate=0.3)}
        start = learner.initial_model(key=3)
        update = PendingUpdate(client="client-0", model=start, samples=samples, key=1, **work)
        ends.append(learner.weights(mean([update])))
    for name, values in ends[0].items():
        np.testing.assert_array_equal(ends[1][name], values)


class Vertical(nn.Module):
    """Two parts, of which the server's scales its features."""

    num_global_features, num_central_outputs = 4, 3

    def __init__(self, central: type[nn.Linear]) -> None:
        super().__init__()
        self.central, self.local = central(4, 3), nn.Linear(3 + NUM_FEATURES - 4, 1)

    def forward(self, x):
        return self.local(torch.cat((self.central(x[..., :4]), x[..., 4:]), -1))


class Halves(nn.Linear):
    def forward(self, x):
        return super().forward(x / 2)


class HalvesInPlace(nn.Linear):
    def forward(self, x):
        x /= 2
        return super().forward(x)


def test_the_servers_part_passes_the_same_samples_twice():
    halves = dict(zip(("train_x", "test_x"), (X[:150], X[150:]), strict=True))
    targets = dict(zip(("train_y", "test_y"), (QUANTITIES[:150], QUANTITIES[150:]), strict=True))
    dataset = cosim.data.Dataset(name="two", **halves, **targets, num_classes=None, num_global_features=4)
    rule, ends = VerticalSgd(batch_size=10, learning_rate=0.1, central_learning_rate=0.1), []
    for central in (Halves, HalvesInPlace):
        learner = Learner(Vertical(central), dataset, num_workers=1)
        start, samples = learner.initial_model(key=3), np.arange(20)
        work = {"num_steps": 4, "training": rule}
        ends.append(
            learner.weights(mean([PendingUpdate(client="0", model=start, samples=samples, key=1, **work)]))
        )
    for name, values in ends[0].items():
        np.testing.assert_array_equal(ends[1][name], values)
