"""Tasks: every program minimises the loss of the task, and what is reported is that of a loop."""

import copy
import inspect
import math
from pathlib import Path

import attrs
import numpy as np
import pytest
import torch
from sgd_loop import trained_by_sgd
from torch import nn

import cosim
import models
from cosim import Never
from cosim.configuration import ConfigurationError, part
from cosim.configuration.kinds import kinds_of
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.nothing_learned import NothingLearned
from cosim.engine.store.checkpoint import Checkpoint
from cosim.networks.probe import task as probe
from cosim.networks.probe.task import TAKEN
from cosim.networks.probe.task import _check_loss as CHECK_LOSS
from cosim.networks.slices import MOST_SAMPLES
from cosim.own_code.imports import is_ours
from cosim.records.rows import Evaluation
from cosim.studies.table import COLUMNS
from cosim.testing import small_system
from cosim.training.port import LocalTraining
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.papers.rawhfl.recurring_rows import RecurringRows
from scenarios.papers.vhfl.vertical import VerticalSgd

pytestmark = pytest.mark.usefixtures("one_thread")

NUM_SAMPLES, NUM_FEATURES, NUM_CLASSES = 90, 12, 4
RNG = np.random.default_rng(3)
X = RNG.standard_normal((NUM_SAMPLES, NUM_FEATURES)).astype(np.float32)
LABELS = RNG.integers(0, NUM_CLASSES, NUM_SAMPLES)
QUANTITIES = RNG.standard_normal((NUM_SAMPLES, NUM_CLASSES)).astype(np.float32)
CLASSES = cosim.data.Dataset.of("classes", (X, LABELS), (X[:9], LABELS[:9]), NUM_CLASSES)
SEVERAL = cosim.data.Dataset.of("several", (X, QUANTITIES), (X[:9], QUANTITIES[:9]))
TOKENS = attrs.evolve(CLASSES, train_x=np.zeros_like(X, np.int64), test_x=np.zeros_like(X[:9], np.int64))
ROWS = attrs.evolve(CLASSES, name="rows", train_y=None, batching=RecurringRows)


class Steep(cosim.tasks.Classification):
    """A loss that is not cross entropy, for which there are programs by hand."""

    def loss(self, outputs, targets):
        return nn.functional.cross_entropy(3.0 * outputs, targets, label_smoothing=0.3)


@part
class Huber(cosim.tasks.Task):
    """Of several quantities."""

    delta: float = 0.5

    def loss(self, outputs, targets):
        return nn.functional.huber_loss(outputs.reshape(targets.shape), targets, delta=self.delta)

    def measures(self):
        return {"test_mae": cosim.records.Measure("test MAE", higher_is_better=False)}

    def sums(self, outputs, targets):
        return {"test_mae": (outputs.double() - targets.reshape(outputs.shape)).abs().mean(1).sum()}


class ByHand(LocalTraining):
    """Plain SGD, client by client."""

    def train(self, client):
        optimizer = torch.optim.SGD(client.network.parameters(), lr=self.learning_rate)
        for x, y in client.batches(client.num_steps, self.batch_size):
            optimizer.zero_grad()
            client.loss(client.network(x), y).backward()
            optimizer.step()


def updates(start, rule, dataset, num_clients=3) -> list[PendingUpdate]:
    held = np.array_split(np.arange(dataset.num_sample_numbers), num_clients)
    return [
        PendingUpdate(
            client=f"client-{n}", model=start, samples=of, key=n, num_steps=n % 2 + 4, training=rule
        )
        for n, of in enumerate(held)
    ]


def in_a_loop(network: nn.Module, update: PendingUpdate, dataset, task) -> dict[str, np.ndarray]:
    """One client by torch.optim.SGD."""
    x, y = dataset.train_x, dataset.train_y
    if y is None:
        rows, y = divmod(np.arange(len(x) * NUM_CLASSES), NUM_CLASSES)
        x = x[rows]
    trained = trained_by_sgd(copy.deepcopy(network), update, x, y, task.loss)
    return {name: p.detach().numpy() for name, p in trained.named_parameters()}


# --- Training -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Sgd, ByHand])
@pytest.mark.parametrize("model", ["relu-12-9-4", "mlp-12-9-4", "undeclared"])
@pytest.mark.parametrize(
    ("task", "dataset"),
    [(Steep(), CLASSES), (Steep(), ROWS), (Huber(), SEVERAL), (cosim.tasks.Classification(), ROWS)],
    ids=["classes", "rows", "several quantities", "cross entropy on rows"],
)
@pytest.mark.parametrize("num_clients", [1, 3])
def test_every_program_takes_the_steps_of_a_loop_on_its_loss(kind, model, task, dataset, num_clients):
    rule, declared = kind(batch_size=8, learning_rate=0.2), model != "undeclared"
    network = models.build(model) if declared else nn.Sequential(nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 4))
    learner = Learner(network, dataset, num_workers=1, task=task)
    start = learner.initial_model(key=3)
    at_start = learner.network_of(start)
    asked = updates(start, rule, dataset, num_clients)
    alone = [in_a_loop(at_start, update, dataset, task) for update in asked]
    found = learner.weights(mean(asked))
    for name, values in found.items():
        expected = np.mean([of[name] for of in alone], axis=0)
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
        assert (values != learner.weights(start)[name]).any()


def test_a_class_with_a_loss_of_its_own_leaves_the_programs_of_cross_entropy():
    """Else a subclass would be trained by its base's loss."""

    class Renamed(cosim.tasks.Classification):
        def measures(self):
            return super().measures()

    kinds = (cosim.tasks.Classification, Renamed, Steep, cosim.tasks.Regression)
    assert [kind.form == "cross_entropy" for kind in kinds] == [True, True, False, False]


def test_vertical_training_minimises_it_too():
    """Huber's loss with a corner out of reach is half of the squared error."""
    y = QUANTITIES[:, 0].copy()
    dataset = attrs.evolve(cosim.data.Dataset.of("one", (X, y), (X[:9], y[:9])), num_global_features=5)
    ends = []
    for task, factor in ((cosim.tasks.Regression(), 1.0), (Huber(delta=1e6), 2.0), (Huber(delta=1e-2), 2.0)):
        learner = Learner(models.build("vertical-5-7-8-3"), dataset, num_workers=1, task=task)
        rule = VerticalSgd(batch_size=10, learning_rate=factor * 0.1, central_learning_rate=factor * 0.07)
        held = np.array_split(np.arange(NUM_SAMPLES), 3)
        start = learner.initial_model(key=3)
        asked = [
            PendingUpdate(client=str(n), model=start, samples=of, key=n, num_steps=6, training=rule)
            for n, of in enumerate(held)
        ]
        ends.append(learner.weights(mean(asked)))
    squared, half, other = ends
    for name, values in squared.items():
        np.testing.assert_allclose(half[name], values, rtol=1e-4, atol=1e-6)
        assert not np.allclose(other[name], values, rtol=1e-3, atol=1e-5)


def test_losses_that_a_selection_reads_are_those_of_the_task():
    learner = Learner(models.build("relu-12-9-4"), CLASSES, num_workers=1, task=Steep())
    model = learner.initial_model(key=3)
    groups = [np.arange(10), np.arange(10, 50)]
    outputs = learner.network_of(model)(torch.tensor(X)).detach()
    expected = [float(Steep().loss(outputs[group], torch.tensor(LABELS[group]))) for group in groups]
    np.testing.assert_allclose(learner.losses(model, groups), expected, rtol=1e-5)


# --- Reporting ----------------------------------------------------------------------------------------------


def test_several_quantities_are_reported_as_in_a_loop():
    learner = Learner(models.build("mlp-12-9-4"), SEVERAL, num_workers=1)
    model = learner.initial_model(key=3)
    outputs = learner.network_of(model)(torch.tensor(X)).detach().numpy().astype(np.float64)
    test, targets = outputs[:9], QUANTITIES[:9]
    found = learner.evaluate(model)
    assert list(found) == ["test_mse", "train_mse", "error_ratio"]
    assert found["test_mse"] == pytest.approx(((test - targets) ** 2).mean(), rel=1e-6)
    assert found["train_mse"] == pytest.approx(((outputs - QUANTITIES) ** 2).mean(), rel=1e-6)
    ratio = np.abs(test - targets).sum() / np.abs(targets).sum()
    assert found["error_ratio"] == pytest.approx(ratio, rel=1e-6)


@pytest.mark.parametrize("num_test", [1, MOST_SAMPLES, 2 * MOST_SAMPLES + 7])
def test_scores_are_means_over_all_slices_with_any_number_of_workers(num_test):
    x = RNG.standard_normal((num_test, NUM_FEATURES)).astype(np.float32)
    y = RNG.standard_normal((num_test, NUM_CLASSES)).astype(np.float32)
    dataset = cosim.data.Dataset.of("many", (X, QUANTITIES), (x, y))
    learners = [Learner(models.build("mlp-12-9-4"), dataset, num_workers=n, task=Huber()) for n in (1, 3)]
    found = [learner.evaluate(learner.initial_model(key=3)) for learner in learners]
    assert found[0] == found[1]
    outputs = learners[0].network_of(learners[0].initial_model(key=3))(torch.tensor(x)).detach().numpy()
    assert found[0] == {"test_mae": pytest.approx(np.abs(outputs - y).mean(), rel=1e-5)}


def test_a_checkpoint_keeps_scores_to_the_bit_and_what_they_mean(tmp_path):
    measures = {"error_m": cosim.records.Measure("error (m)", higher_is_better=False)} | Steep().measures()
    values = (1 / 3, math.inf, math.nan)
    kept = [
        Evaluation(0.1 * number, number, dict.fromkeys(measures, value), measures)
        for number, value in enumerate(values)
    ]
    Checkpoint(version=2, rows={}, weights={"a": np.zeros(2, np.float32)}, evaluations=kept).save(tmp_path)
    loaded = Checkpoint.load(tmp_path)
    assert loaded is not None
    assert repr(loaded.evaluations) == repr(kept)
    assert all(type(measure) is cosim.records.Measure for measure in loaded.evaluations[0].measures.values())


def test_a_target_is_reached_in_the_direction_of_the_headline():
    risen = cosim.run(small_system())
    fallen = cosim.run(attrs.evolve(small_system(), task=LossFirst()))
    accuracy, loss = risen.evaluations["accuracy"], fallen.evaluations["loss_nats"]
    assert accuracy[1] > accuracy[0]
    assert loss[1] < loss[0]
    assert risen.time_to_target_s(accuracy[1]) == risen.evaluations["time_s"][1]
    assert fallen.time_to_target_s(loss[1]) == fallen.evaluations["time_s"][1]
    assert risen.time_to_target_s(1.0) is None
    assert fallen.time_to_target_s(0.0) is None
    timed = cosim.run(attrs.evolve(small_system(), evaluation=Never()))
    assert timed.time_to_target_s(0.0) is None
    assert timed.summary.scores == {}


class LossFirst(cosim.tasks.Classification):
    """Another headline."""

    def measures(self):
        return dict(reversed(super().measures().items()))


OF_KINDS = {
    cosim.tasks.Classification: CLASSES,
    cosim.tasks.NextToken: TOKENS,
    cosim.tasks.Regression: SEVERAL,
}
"""Our kinds, each with a data set."""


def test_losses_of_ours_can_be_batched_so_runs_need_not_try_them(monkeypatch):
    """A trial of a loss imports torch's compiler, which takes as long as torch itself."""
    ours = {kind for kind in kinds_of(cosim.tasks.Task) if is_ours(Path(inspect.getfile(kind)))}
    assert ours == OF_KINDS.keys()
    tried = []
    monkeypatch.setattr(probe, "_check_loss", lambda task, *_: tried.append(type(task)))
    for kind, dataset in OF_KINDS.items():
        CHECK_LOSS(kind(), *probe._tried(kind(), dataset, 4), dataset.name)
        probe.check_task(kind(), dataset)
    assert not tried
    probe.check_task(Steep(), CLASSES)
    assert {*tried} == {Steep}


# --- Refusals -----------------------------------------------------------------------------------------------


def task_with(**methods) -> cosim.tasks.Task:
    return type("Own", (cosim.tasks.Classification,), methods)()


REFUSED = {
    "a column of the table": (
        task_with(
            measures=lambda self: {"energy_j": cosim.records.Measure("energy", higher_is_better=False)}
        ),
        "Own.measures: energy_j, but must be names of new columns",
    ),
    "a column that is no name": (
        task_with(measures=lambda self: {"top 5": cosim.records.Measure("top 5", higher_is_better=True)}),
        "Own.measures: top 5, but must be",
    ),
    "no column": (task_with(measures=lambda self: {}), "Own.measures: none, but must be"),
    "a sum that is missing": (
        task_with(sums=lambda self, outputs, targets: {}),
        "Own.sums: has no 'accuracy'",
    ),
    "other columns": (
        task_with(scores=lambda self, test, training: {"loss_nats": 0.0}),
        "Own.scores: gives loss_nats; its measures are accuracy, loss_nats",
    ),
    "a loss that cannot be batched": (
        task_with(loss=lambda self, outputs, targets: outputs.sum() * outputs.max().item()),
        "Own.loss: torch.func cannot batch its gradient on 'classes'",
    ),
    "a loss that draws": (
        task_with(loss=lambda self, outputs, targets: (outputs * torch.rand(4)).mean()),
        "Own.loss: torch.func cannot batch.*random",
    ),
    "a loss of every sample": (
        task_with(loss=lambda self, outputs, targets: outputs.sum(1)),
        "Own.loss: torch.func cannot batch",
    ),
    "a loss that fits one size of batch": (
        task_with(loss=lambda self, outputs, targets: (outputs - targets).square().mean()),
        "Own.loss: torch.func cannot batch",
    ),
    "a mean where a sum is meant": (
        task_with(sums=lambda self, outputs, targets: {"accuracy": 0.0, "loss_nats": outputs.mean()}),
        r"Own.sums: loss_nats of 4 samples is .* one by one, .*\.sum\(\) in place of",
    ),
    "sums that fail on one sample": (
        task_with(
            sums=lambda self, outputs, targets: dict.fromkeys(self.measures(), outputs.squeeze().sum(1).sum())
        ),
        r"Own.sums: fails on one sample .*in place of squeeze",
    ),
    "quantities": (
        cosim.tasks.Regression(),
        "Regression: the targets of 'classes' are classes, not quantities",
    ),
}


@pytest.mark.parametrize(("task", "words"), REFUSED.values(), ids=REFUSED)
def test_a_task_that_cannot_be_is_refused_before_the_clock_starts(task, words):
    with pytest.raises(ConfigurationError, match=words):
        Learner(models.build("mlp-12-9-4"), CLASSES, num_workers=1, task=task)


def test_data_that_do_not_suit_are_refused_where_only_times_are_asked_for_too():
    with pytest.raises(ConfigurationError, match="Classification: the targets of 'several' are quantities"):
        NothingLearned(models.build("mlp-12-9-4"), SEVERAL, cosim.tasks.Classification())
    with pytest.raises(
        ConfigurationError, match=r"Own.reads_training_set: .* 'rows' do not exist before the run"
    ):
        Learner(models.build("mlp-12-9-4"), ROWS, task=task_with(reads_training_set=True))
    with pytest.raises(ConfigurationError, match=r"must be \(1, 4\), which Regression wants for 'several'"):
        Learner(models.build("mlp-12-9-1"), SEVERAL)


def test_targets_of_another_shape_are_refused():
    with pytest.raises(ConfigurationError, match=r"test_y.*must hold as many quantities as train_y"):
        cosim.data.Dataset.of("own", (X, QUANTITIES), (X[:9], QUANTITIES[:9, :2]))
    with pytest.raises(ConfigurationError, match=r"training part.*a class is one number for a sample"):
        cosim.data.Dataset.of("own", (X, LABELS[:, None]), (X[:9], LABELS[:9, None]), NUM_CLASSES)


def test_columns_of_tables_are_not_those_of_a_task():
    result = cosim.run(attrs.evolve(small_system(), evaluation=Never()))
    assert {*COLUMNS, *result.evaluations} <= set(TAKEN)


# --- Outputs and targets that broadcast ---------------------------------------------------------------------

FEATURES = np.random.default_rng(3).standard_normal((40, 6), np.float32)
LOSSES = {
    "squares": lambda outputs, targets: (outputs - targets).square().mean(),
    "the sum of squares": lambda outputs, targets: (outputs - targets).square().sum(),
    "absolute": lambda outputs, targets: (outputs - targets).abs().mean(),
    "quantile": lambda outputs, targets: (0.9 * (e := targets - outputs)).maximum(-0.1 * e).mean(),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("squeezed", [False, True])
def test_a_loss_of_every_output_with_every_target_is_refused(loss, squeezed):
    """Outputs have shape (B, 1), targets (B,) or (B, 1)."""
    of = lambda outputs: outputs.squeeze(-1) if squeezed else outputs  # noqa: E731
    own = {"loss": lambda self, outputs, targets: loss(of(outputs), targets)}
    task = type("Own", (cosim.tasks.Regression,), own)()
    for own_axis in (False, True):
        y = FEATURES.sum(1)[:, None] if own_axis else FEATURES.sum(1)
        data = cosim.data.Dataset.of("own", (FEATURES[:30], y[:30]), (FEATURES[30:], y[30:]))
        if own_axis == squeezed:
            with pytest.raises(ConfigurationError, match=r"Own.loss: pairs each output with the targets"):
                Learner(models.build("mlp-6-4-1"), data, task=task)
        else:
            Learner(models.build("mlp-6-4-1"), data, task=task)


SOUND = {
    "weighted": lambda o, y: nn.functional.cross_entropy(o, y, weight=torch.tensor([1.0, 2.0, 5.0, 0.5])),
    "smoothed": lambda o, y: nn.functional.cross_entropy(o, y, label_smoothing=0.1),
    "of outputs alone": lambda o, y: o.square().mean(),
    "shares of labels": lambda o, y: (
        o.softmax(1).mean(0) - (y[:, None] == torch.arange(4)).float().mean(0)
    ).norm(),
    "a variance": lambda o, y: nn.functional.cross_entropy(o, y) + o.var(0).sum(),
}


@pytest.mark.parametrize("loss", SOUND.values(), ids=SOUND)
def test_other_losses_that_are_no_sums_over_samples_are_taken(loss):
    task = task_with(loss=lambda self, outputs, targets: loss(outputs, targets))
    Learner(models.build("mlp-12-9-4"), CLASSES, num_workers=1, task=task)
