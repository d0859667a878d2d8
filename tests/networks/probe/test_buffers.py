"""Buffers are three things: running statistics, state of a network's own, and constants."""

from functools import partial

import attrs
import numpy as np
import pytest
import torch
from data_sets import loaded
from equal import tensors_of
from torch import nn
from torch.nn import functional as F

import cosim
from cosim import ConfigurationError
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.nothing_learned import NothingLearned
from cosim.networks.initial_model import InitialModel
from cosim.networks.probe.buffers import shape_of
from cosim.protocols.combinations import AssembledModel, Submodel
from cosim.training.programs.sgd_steps import mini_batches
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from cosim.values.submodels import Part

X = np.random.default_rng(1).standard_normal((200, 12)).astype("f4")
Y = X[:, :4].argmax(1)


def data(_):
    return (X[:150], Y[:150]), (X[150:], Y[150:])


class Dense(nn.Module):
    """Two layers; what a subclass keeps it moves in `kept`."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(12, 5), nn.Linear(5, 4)

    def kept(self, h: torch.Tensor) -> torch.Tensor:
        return h

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.relu(self.kept(self.a(x))))


class Table(Dense):
    """A table, and a mask whose entries are no finite numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.linspace(-1.0, 1.0, 5))
        self.register_buffer("mask", torch.tensor([-torch.inf, 0.0, 0.0, 0.0, 0.0]), persistent=False)

    def kept(self, h):
        return torch.relu(h + self.mask) + self.table


class Sparse(Dense):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("links", torch.eye(5).to_sparse())

    def kept(self, h):
        return (self.links @ h.mT).mT


class Normalised(Dense):
    def __init__(self) -> None:
        super().__init__()
        self.n = nn.BatchNorm1d(5)

    def kept(self, h):
        return self.n(h)


class FrozenNormalised(Normalised):
    """Its layer keeps what it has."""

    def train(self, mode: bool = True):
        super().train(mode)
        self.n.eval()
        return self


class ConstantNormalised(Dense):
    """Frozen batch normalisation, like torchvision's FrozenBatchNorm2d."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.full((5,), 0.1))
        self.register_buffer("running_var", torch.full((5,), 2.0))

    def kept(self, h):
        return (h - self.running_mean) * self.running_var.rsqrt()


class OwnNormalised(ConstantNormalised):
    """torch's function on buffers of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(2.0))

    def kept(self, h):
        return F.batch_norm(h, self.running_mean, self.running_var, training=self.training) * self.scale


class Assigned(Dense):
    """Puts another tensor in the place of its buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(5))

    def kept(self, h):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
        return h - self.mean


class InPlace(Assigned):
    def kept(self, h):
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return h - self.mean


class PastVersions(Assigned):
    """By `.data`, which torch's version counters do not see."""

    def kept(self, h):
        if self.training:
            self.mean.data.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return h - self.mean


class Attached(Assigned):
    """With the gradient of what came in, which a plain loop would detach."""

    def kept(self, h):
        old = self.mean
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * h.mean(0)
        return h - old


class Counting(Dense):
    """A counter, of which the outputs depend, and a flag; not in the state dict."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.tensor(0), persistent=False)
        self.register_buffer("began", torch.tensor(False))

    def kept(self, h):
        if self.training:
            self.steps += 1
            self.began = torch.ones_like(self.began)
        return h + 0.01 * self.steps


class Spectral(Dense):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        nn.utils.parametrizations.spectral_norm(self.a)


class Filled(Dense):
    """Tables that are filled once: of one it is known by a plain attribute, of the other by its absence."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(5))
        self.register_buffer("late", None)
        self.is_filled = False

    def kept(self, h):
        if not self.is_filled:
            self.table[:] = torch.linspace(0.0, 1.0, 5)
            self.is_filled = True
        if self.late is None:
            self.late = torch.ones(5)
        return h * self.table + self.late


class BegunByData(Dense):
    """Filled by the first batch, as it says itself in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(5))
        self.register_buffer("began", torch.tensor(0, dtype=torch.uint8))

    def kept(self, h):
        if self.training and not self.began:
            self.shift.copy_(h.detach().mean(0))
            self.began.fill_(1)
        return h - self.shift


RUNNING = ("running_mean", "running_var")
U, V = (f"a.parametrizations.weight.0._{name}" for name in "uv")
KINDS = [
    (Dense, (), (), ()),
    (Table, (), (), ()),
    (Sparse, (), (), ()),
    (Normalised, tuple(f"n.{name}" for name in RUNNING), (), ()),
    (FrozenNormalised, (), (), ()),
    (ConstantNormalised, (), (), ()),
    (OwnNormalised, RUNNING, (), ()),
    (Assigned, (), ("mean",), ()),
    (InPlace, (), ("mean",), ()),
    (PastVersions, (), ("mean",), ()),
    (Attached, (), ("mean",), ()),
    (Counting, (), ("steps", "began"), ("steps", "began")),
    (Spectral, (), (U, V), ()),
    (Filled, (), (), ()),
    (BegunByData, (), ("shift", "began"), ("began",)),
]
"""Network, its running statistics, its state, and what of it is whole numbers."""


@pytest.mark.parametrize(("kind", "statistics", "state", "whole_numbers"), KINDS)
def test_buffers_are_sorted_by_what_training_moves(kind, statistics, state, whole_numbers):
    network = kind()
    before = {name: values.clone() for name, values in network.state_dict().items()}
    generator = torch.get_rng_state()
    shape = shape_of(network, X[:1])
    assert tuple(shape.statistics) == statistics
    assert tuple(shape.state) == state
    assert shape.whole_numbers == whole_numbers
    assert tuple(shape.tensors) == (*dict(network.named_parameters()), *statistics, *state)
    assert network.training
    assert torch.equal(torch.get_rng_state(), generator)
    after = network.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(values.to_dense(), before[name].to_dense()) for name, values in after.items())


@pytest.mark.parametrize("kind", [kind for kind, *_ in KINDS])
def test_a_run_without_learning_has_the_bits_of_one_that_learns(kind, monkeypatch):
    """Although its network has no values, where it can be built and tried without."""
    monkeypatch.setitem(globals(), "network", kind)
    system = _system(num_clients=1, end=cosim.AfterRounds(num_global_rounds=1))
    learning = cosim.run(system, num_workers=1).transfers
    without = cosim.run(attrs.evolve(system, evaluation=cosim.Never())).transfers
    assert learning["payload_bits"].tolist() == without["payload_bits"].tolist()
    assert learning["payload_bits"].sum() > 0


def test_a_constant_takes_part_in_no_arithmetic(monkeypatch):
    """Infinite entries of a mask would be no numbers where FedBuff takes one model from another."""
    monkeypatch.setitem(globals(), "network", Table)
    training = cosim.ClientTraining(local=cosim.Sgd(batch_size=8, learning_rate=0.1))
    protocol = cosim.FedBuff(num_updates=3, training=training)
    result = cosim.run(_system(protocol=protocol, end=cosim.AfterVersions(num_versions=4)), num_workers=1)
    assert result.learned.keys() == dict(Dense().named_parameters()).keys()
    assert np.isfinite(result.evaluations["loss_nats"]).all()
    assert set(result.transfers["payload_bits"]) == {32 * sum(p.numel() for p in Dense().parameters())}
    assert torch.equal(result.network.mask, Table().mask)


def _system(**knobs):
    local = cosim.Sgd(batch_size=8, learning_rate=0.1)
    usual = {
        "num_cells": 1,
        "num_clients": 6,
        "model": f"{__name__}:network",
        "data": cosim.Arrays(source=f"{__name__}:data"),
        "protocol": cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=1, local=local)),
        "initial_weights": "network",
        "end": cosim.AfterRounds(num_global_rounds=3),
    }
    return cosim.System(**usual | knobs)


# --- state is trained as in a plain loop ---

DATA = loaded(cosim.data.Synthetic())
NUM_STEPS, BATCH_SIZE, RATE = 4, 10, 0.1


def updates_of(start, training):
    """Of three clients with samples of their own."""
    return [
        PendingUpdate(
            client=f"client-{number}",
            model=start,
            samples=np.arange(40 * number, 40 * number + 40),
            num_steps=NUM_STEPS + number * isinstance(training, cosim.training.TorchFunction),
            training=training,
            key=number,
        )
        for number in range(3)
    ]


def by_hand(kind, start: dict, update: PendingUpdate) -> dict[str, torch.Tensor]:
    """The same training as a plain loop."""
    network = kind().train()
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
    with torch.no_grad():
        for name, values in start.items():
            own = tensors_of(network)[name]
            own.copy_(values if own.is_floating_point() else values.round())
    for batch in mini_batches(update.samples, update.num_steps, BATCH_SIZE, update.key):
        x, y = torch.tensor(DATA.train_x[batch]), torch.tensor(DATA.train_y[batch])
        optimizer.zero_grad()
        F.cross_entropy(network(x), y).backward()
        optimizer.step()
        for name, values in network.named_buffers():
            if values.grad_fn is not None:
                setattr(network, name, values.detach())
    return {name: tensors_of(network)[name].detach().float() for name in start}


def rounds_by_hand(kind, start, training):
    """Two rounds of three clients, whose models are averaged."""
    for _ in range(2):
        trained = [by_hand(kind, start, update) for update in updates_of(InitialModel(kind(), 1), training)]
        start = {name: torch.stack([of[name] for of in trained]).mean(0) for name in start}
    return start


def steps(network, batches, state, rng):
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
    for x, y in batches:
        optimizer.zero_grad()
        F.cross_entropy(network(x), y).backward()
        optimizer.step()


SGD = cosim.Sgd(batch_size=BATCH_SIZE, learning_rate=RATE)
FUNCTION = cosim.training.TorchFunction(batch_size=BATCH_SIZE, function=f"{__name__}:steps")
BATCHED = [OwnNormalised, Assigned, InPlace, Attached, Counting, Table]
CASES = [(kind, SGD, 5) for kind in BATCHED]
CASES += [(kind, SGD, 1) for kind in (*BATCHED, PastVersions, Spectral, BegunByData, Sparse)]
CASES += [(kind, FUNCTION, 1) for kind in (OwnNormalised, Assigned, InPlace, Counting, BegunByData, Table)]


@pytest.mark.parametrize(("kind", "training", "num_clients"), CASES)
def test_state_moves_as_in_plain_loops_and_is_averaged(kind, training, num_clients):
    """Two rounds of clients that train together, one by one, or by a function of one's own."""
    network, found = kind(), []
    for num_workers in (1, 2, 3):
        learner = Learner(network, DATA, num_workers=num_workers, brings_weights=True)
        learner._resolver.working_set = learner._resolver.working_set._replace(num_clients=num_clients)
        model = learner.initial_model(key=1)
        first = {name: torch.tensor(values) for name, values in learner.weights(model).items()}
        for _ in range(2):
            model = mean(updates_of(model, training))
        found.append(learner.weights(model))
    wanted = rounds_by_hand(kind, first, training)
    for weights in found:
        assert weights.keys() == wanted.keys()
        for name, values in weights.items():
            np.testing.assert_allclose(values, wanted[name].numpy(), rtol=1e-5, atol=3e-6, err_msg=name)
            np.testing.assert_array_equal(values, found[0][name])
    assert all((found[0][name] != first[name].numpy()).any() for name in learner.shape.state)


def test_counts_are_numbers_in_a_model_and_counts_again_in_a_network():
    """The mean of 4, 5 and 6 steps, of 4 and 5; and where a client goes on."""
    learner = Learner(Counting(), DATA, num_workers=1, brings_weights=True)
    start = learner.initial_model(key=1)
    apart = updates_of(start, FUNCTION)
    assert learner.weights(mean(apart))["steps"] == 5.0
    model = mean(apart[:2])
    assert learner.weights(model)["steps"] == 4.5
    again = mean(updates_of(model, SGD)[:1])
    assert learner.weights(again)["steps"] == 4 + NUM_STEPS  # half a step is rounded to even
    network = learner.network_of(model)
    assert network.steps.dtype == torch.int64
    assert network.steps == 4
    assert network.began.dtype == torch.bool
    assert network.began
    right = network(torch.tensor(DATA.test_x)).argmax(1).numpy() == DATA.test_y
    assert learner.evaluate(model)["accuracy"] == right.mean()


# --- parameters that a forward pass writes into ---


class Clamped(Dense):
    """A critic of Wasserstein's distance."""

    def forward(self, x):
        if self.training:
            self.a.weight.data.clamp_(-0.1, 0.1)
        return super().forward(x)


class Rescaled(Dense):
    """By other memory in the place of its own."""

    def forward(self, x):
        if self.training:
            self.a.weight.data = F.normalize(self.a.weight.data)
        return super().forward(x)


@pytest.mark.parametrize("training", [SGD, FUNCTION], ids=["engine", "function"])
@pytest.mark.parametrize("kind", [Clamped, Rescaled])
def test_parameters_that_training_writes_into_are_those_of_a_plain_loop(kind, training):
    learner = Learner(kind(), DATA, num_workers=2, brings_weights=True)
    model = learner.initial_model(key=1)
    first = {name: torch.tensor(values) for name, values in learner.weights(model).items()}
    found = learner.weights(mean(updates_of(mean(updates_of(model, training)), training)))
    wanted = rounds_by_hand(kind, first, training)
    for name, values in found.items():
        np.testing.assert_allclose(values, wanted[name].numpy(), rtol=1e-5, atol=3e-6, err_msg=name)


class ClampedAlways(Dense):
    def forward(self, x):
        self.a.weight.data.clamp_(-0.1, 0.1)
        return super().forward(x)


class RescaledAlways(Dense):
    def forward(self, x):
        self.a.weight.data = F.normalize(self.a.weight.data)
        return super().forward(x)


class Teacher(Dense):
    """A mean of its weights, held in a frozen layer that all clients share."""

    def __init__(self) -> None:
        super().__init__()
        self.t = nn.Linear(12, 5).requires_grad_(False)

    def forward(self, x):
        if self.training:
            self.t.weight.data.mul_(0.9).add_(0.1 * self.a.weight.data)
        return super().forward(x)


@pytest.mark.parametrize("kind", [ClampedAlways, RescaledAlways])
def test_an_evaluation_leaves_the_parameters_of_a_model_as_they_are(kind):
    learner = Learner(kind(), DATA, num_workers=2)
    model = mean(updates_of(learner.initial_model(key=1), SGD))
    before = learner.weights(model)
    network = learner.network_of(model)
    found = learner.evaluate(model)["accuracy"]
    for name, values in learner.weights(model).items():
        np.testing.assert_array_equal(values, before[name])
    with torch.no_grad():
        assert found == (network(torch.tensor(DATA.test_x)).argmax(1).numpy() == DATA.test_y).mean()


def test_frozen_parameters_that_training_writes_into_are_refused():
    with pytest.raises(ConfigurationError, match=r"^t\.weight: frozen, but .* into it.*register_buffer"):
        Learner(Teacher(), DATA)


# --- buffers that a function moves, and no forward pass ---


class Prototypes(Dense):
    """A row for each class, and how many samples it is of."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 5))
        self.register_buffer("counts", torch.zeros(4, dtype=torch.int64))


class Declared(Prototypes):
    def __init__(self) -> None:
        super().__init__()
        self.moving_buffers = ("rows", "counts")


def prototypes(network, batches, state, rng):
    steps(network, batches := list(batches), state, rng)
    for x, y in batches:
        with torch.no_grad():
            network.rows.index_add_(0, y, network.a(x))
        network.counts += torch.bincount(y, minlength=4)


MOVING = cosim.training.TorchFunction(batch_size=BATCH_SIZE, function=f"{__name__}:prototypes")


def test_what_a_function_moves_travels_where_it_is_declared():
    learner = Learner(Declared(), DATA, num_workers=2, brings_weights=True)
    model = learner.initial_model(key=1)
    assert learner.shape.whole_numbers == ("counts",)
    found = learner.weights(mean(updates_of(model, MOVING)))
    batches = [mini_batches(u.samples, u.num_steps, BATCH_SIZE, u.key) for u in updates_of(model, MOVING)]
    counts = sum(np.bincount(DATA.train_y[batch.ravel()], minlength=4) for batch in batches)
    np.testing.assert_allclose(found["counts"], counts / 3, rtol=1e-6)
    assert (found["rows"] != 0.0).any()


def test_what_a_function_moves_is_refused_where_it_would_be_lost():
    """Not so a table that is filled once."""
    learner = Learner(Prototypes(), DATA, num_workers=1)
    with pytest.raises(ConfigurationError, match=r"moves counts, rows .* self\.moving_buffers = \('c"):
        learner.weights(mean(updates_of(learner.initial_model(key=1), MOVING)))
    learner = Learner(Filled(), DATA, num_workers=1)
    learner.weights(mean(updates_of(learner.initial_model(key=1), FUNCTION)))


# --- parts of a network ---


class InParts(Counting):
    """A scale for each unit, constant, and a counter of the whole."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(12, width), nn.Linear(width, 4)
        self.register_buffer("scales", torch.arange(1.0, width + 1.0))
        self.unit_groups = {"units": (("a.weight", 0), ("a.bias", 0), ("scales", 0), ("b.weight", 1))}

    def kept(self, h):
        return super().kept(h) * self.scales


def test_a_part_has_its_share_of_declared_buffers_and_all_of_the_state():
    network = InParts()
    shape = shape_of(network, X)
    assert tuple(shape.statistics) == ("scales",)
    assert tuple(shape.state) == ("steps", "began")
    learner = Learner(network, DATA, num_workers=1, brings_weights=True)
    model, parts = learner.initial_model(key=1), [Part({"units": [0, 3]}), Part({"units": [1, 2, 4]})]
    cells = []
    for part, width in zip(parts, (2, 3), strict=True):
        update = updates_of(Submodel(model, part), SGD)[width - 2]
        cells.append(mean([update]))
        start = {name: torch.tensor(values) for name, values in learner.weights(update.model).items()}
        assert start["scales"].tolist() == [unit + 1.0 for unit in part.units["units"]]
        for name, values in by_hand(partial(InParts, width), start, update).items():
            np.testing.assert_allclose(learner.weights(cells[-1])[name], values, rtol=1e-5, atol=3e-6)
    whole = learner.weights(AssembledModel(parts, cells))
    np.testing.assert_array_equal(whole["scales"], network.scales)
    assert whole["steps"] == NUM_STEPS


# --- what is refused ---


class Evaluated(Assigned):
    def kept(self, h):
        self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
        return h


class OnlyEvaluated(Assigned):
    def kept(self, h):
        if not self.training:
            self.mean += 1.0
        return h


class EvaluatedByNorm(ConstantNormalised):
    def kept(self, h):
        return F.batch_norm(h, self.running_mean, self.running_var, training=True)


class NormalisedAlways(Normalised):
    """A layer that stays in training mode."""

    def train(self, mode: bool = True):
        super().train(mode)
        self.n.train()
        return self


class Growing(Assigned):
    def kept(self, h):
        if self.training:
            self.mean = h.detach()
        return h


class Retyped(Dense):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(0))

    def kept(self, h):
        if self.training:
            self.mean = 0.9 * self.mean
        return h


class Unbegun(Dense):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", None)

    def kept(self, h):
        if self.training:
            self.mean = h.detach().mean() if self.mean is None else 0.9 * self.mean
        return h


class Complex(Dense):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(1j))

    def kept(self, h):
        if self.training:
            self.mean *= 0.9
        return h


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Evaluated, r"^mean: .* changes it in evaluation mode too.*if self\.training:"),
        (OnlyEvaluated, "^mean: .* changes it in evaluation mode too"),
        (EvaluatedByNorm, "^running_mean, running_var: .* changes it in evaluation mode too"),
        (NormalisedAlways, r"^n\.running_mean, n\.running_var: .* changes it in evaluation mode too"),
        (Growing, r"^mean: .* has the shape \(5,\), but after a forward pass \(2, 5\)"),
        (
            Retyped,
            r"^mean: .* is torch\.int64, but .* torch\.float32\. Use .*torch\.tensor\(0\.0\)",
        ),
        (Unbegun, "^mean: .* has no value before the first forward pass"),
        (Complex, "^mean: .* is complex"),
    ],
)
def test_state_that_cannot_travel_is_refused(kind, words):
    """With values and, where only times are asked, without."""
    with pytest.raises(ConfigurationError, match=words):
        Learner(kind(), DATA)
    with torch.device("meta"):
        network = kind()
    with pytest.raises(ConfigurationError, match=words):
        NothingLearned(network, DATA)
