"""Recorded gradients: the bits of autograd, and autograd wherever a recording could be wrong."""

import ctypes
import sys
import warnings

import numpy as np
import pytest
import torch
from equal import assert_same_bits
from ordinary_networks import LENGTH, NETWORKS, NUM_TOKENS, PICTURES, ROWS, TASKS, TEXTS, updates_of
from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

from cosim.engine.learning.learner import Learner
from cosim.training import Adam, Momentum, Proximal, Scaffold, Sgd
from cosim.training.programs import recorded, transcript
from cosim.values.combinations import mean

NUM_CLIENTS, NUM_STEPS = 3, 6
USUAL = {"batch_size": 4, "learning_rate": 0.1}


def dense():
    return nn.Sequential(nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 3))


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    )


@pytest.fixture
def shapes(monkeypatch):
    """State of each shape, after a call of `weights`."""
    found = []

    class Kept(recorded._Shape):
        def __init__(self) -> None:
            super().__init__()
            found.append(self)

    monkeypatch.setattr(recorded, "_Shape", Kept)
    monkeypatch.setattr(recorded, "LEAST_BEFORE_AN_IMPORT", 0)
    return found


def weights(make, data, rule, task=None, num_rounds=4, num_steps=NUM_STEPS, between=lambda: None):
    """Weights of the mean after some rounds in which all clients train."""
    torch.manual_seed(1)
    learner = Learner(make(), data, num_workers=1, brings_weights=True, task=task)
    model, states = learner.initial_model(1), [None] * NUM_CLIENTS
    for number in range(num_rounds):
        updates = updates_of(model, number, rule, num_steps, NUM_CLIENTS, states=states)
        if rule.keeps_state:
            states = [update.next_state for update in updates]
        model = mean(updates)
        learner.weights(model)
        between()
    return learner.weights(model)


def by_autograd(monkeypatch, *of, **how):
    with monkeypatch.context() as patched:
        patched.setattr(recorded, "LEAST_STEPS", 10**9)
        return weights(*of, **how)


def is_recorded(shapes):
    return [shape.source is not None for shape in shapes if shape.num_steps >= recorded.LEAST_STEPS]


NOT_RECORDED = {
    "VGG with dropout": "masks",
    "RNN of packed texts": "looks at lengths",
    "transformer's encoder": "draws without effect",
    "BERT": "looks at its mask",
    "BERT with dropout": "masks",
    "variational autoencoder": "masks",
    "routed experts": "shapes follow from values",
}


@pytest.mark.parametrize("name", NETWORKS)
def test_an_ordinary_network_gets_the_bits_of_autograd(name, shapes, monkeypatch):
    make, data, _ = NETWORKS[name]
    found = weights(make, data, Sgd(**USUAL), TASKS.get(name))
    assert is_recorded(shapes) == [name not in NOT_RECORDED] * len(is_recorded(shapes))
    assert is_recorded(shapes)
    assert_same_bits(found, by_autograd(monkeypatch, make, data, Sgd(**USUAL), TASKS.get(name)))


@pytest.mark.parametrize(
    "rule",
    [
        Sgd(**USUAL, weight_decay=0.03),
        Momentum(**USUAL, keeps_state=True),
        Momentum(**USUAL, nesterov=True, weight_decay=0.03),
        Adam(**USUAL, keeps_state=True),
        Proximal(**USUAL, mu=0.2),
        Scaffold(**USUAL),
    ],
    ids=lambda rule: type(rule).__name__,
)
@pytest.mark.parametrize(
    ("make", "data"), [(dense, ROWS), (convolutions, PICTURES)], ids=["together", "alone"]
)
def test_each_rule_gets_the_bits_of_autograd(make, data, rule, shapes, monkeypatch):
    found = weights(make, data, rule)
    assert is_recorded(shapes)
    assert all(is_recorded(shapes))
    assert_same_bits(found, by_autograd(monkeypatch, make, data, rule))


class Own(nn.Module):
    """Two layers, and what a test does between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(12, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.last(self.between(torch.tanh(self.first(x)), x))


class Alone(Own):
    """The same, trained client by client, as convolutions are."""

    def __init__(self) -> None:
        super().__init__()
        self.none = nn.Conv1d(1, 1, 1)


class ByList(Alone):
    def between(self, z, x):
        return z * len([value for value in x.flatten().tolist() if value > 0])


class ByArray(Alone):
    def between(self, z, x):
        return z * float(np.abs(x.numpy()).max())


class ByItem(Alone):
    def between(self, z, x):
        return z * x.max().item()


class ByBranch(Alone):
    def between(self, z, x):
        return z if x.sum() > 0 else 2.0 * z


class ByMask(Alone):
    def between(self, z, x):
        return z + z[x[:, 0] > 0].sum()


class ByTrying(Alone):
    """Looks at values unless there are none."""

    def between(self, z, x):
        try:
            return z * max(x.flatten().tolist())
        except Exception:  # as on values that are not there
            return z


class ByText(Alone):
    def between(self, z, x):
        return z * len(str(x[0, 0]).strip("0"))


class ByAddress(Alone):
    """Values read by an address, which a library in C gets even where there are none."""

    def between(self, z, x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the second kind
            address = x.data_ptr()
        return z * ctypes.c_float.from_address(address).value if address else z


class ByPackage(Alone):
    """Values taken over by another library."""

    def between(self, z, x):
        return z * float(np.from_dlpack(x).max())


class ByData(Alone):
    """Sets the memory of a parameter, which no operation tells."""

    def forward(self, x):
        self.last.weight.data = self.last.weight.data * 1.001
        return super().forward(x)

    def between(self, z, x):
        return z


@pytest.mark.parametrize(
    "make", [ByList, ByArray, ByItem, ByBranch, ByMask, ByTrying, ByText, ByAddress, ByPackage]
)
def test_what_looks_at_values_is_trained_by_autograd(make, shapes, monkeypatch):
    found = weights(make, ROWS, Sgd(**USUAL))
    assert not any(is_recorded(shapes))
    assert_same_bits(found, by_autograd(monkeypatch, make, ROWS, Sgd(**USUAL)))


class ByDataAtTheEnd(ByData):
    """The same when they have been used, so that no gradient tells, either."""

    def forward(self, x):
        scores = Own.forward(self, x)
        self.last.weight.data = self.last.weight.data * 1.001
        return scores


class ByDataLater(ByData):
    """Bounds a parameter by its memory, which changes nothing at first."""

    def __init__(self) -> None:
        super().__init__()
        self.bound = 1.01 * float(self.last.weight.detach().abs().max())

    def forward(self, x):
        self.last.weight.data = self.last.weight.data.clamp(-self.bound, self.bound)
        return Own.forward(self, x)


def bounded_rows():
    """Rows of a table that every pass shortens in place."""
    return nn.Sequential(nn.Embedding(NUM_TOKENS, 4, max_norm=0.5), nn.Flatten(), nn.Linear(4 * LENGTH, 3))


@pytest.mark.parametrize(
    ("make", "data"),
    [(ByData, ROWS), (ByDataAtTheEnd, ROWS), (ByDataLater, ROWS), (bounded_rows, TEXTS)],
    ids=["before", "after", "later", "rows"],
)
def test_a_network_that_changes_its_parameters_has_the_bits_of_autograd(make, data, monkeypatch):
    monkeypatch.setattr(recorded, "_looks_at_no_values", lambda *_: True)  # which refuses the first two, too
    found = weights(make, data, Sgd(**USUAL))
    assert_same_bits(found, by_autograd(monkeypatch, make, data, Sgd(**USUAL)))


class Remembers(Alone):
    """Makes a table once for each size of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = {}

    def between(self, z, x):
        if len(x) not in self.tables:
            self.tables[len(x)] = torch.linspace(0.0, 1.0, len(x))[:, None]
        return z * self.tables[len(x)]


def test_what_a_network_makes_once_has_values(monkeypatch):
    more = {"num_steps": recorded.LEAST_STEPS}  # so that the first cohort would be recorded
    found = weights(Remembers, ROWS, Sgd(**USUAL), **more)
    assert_same_bits(found, by_autograd(monkeypatch, Remembers, ROWS, Sgd(**USUAL), **more))


class FailsUnderAMode(torch.autograd.Function):
    """Fails like operations for which a mode of torch has no rule."""

    @staticmethod
    def forward(ctx, z):
        return z.clone()

    @staticmethod
    def backward(ctx, gradient):
        if isinstance(_get_current_dispatch_mode(), transcript.Transcript):
            raise NotImplementedError
        return gradient


class Fails(Alone):
    def between(self, z, x):
        return FailsUnderAMode.apply(z)


def test_what_cannot_be_looked_at_is_trained_by_autograd(shapes, monkeypatch):
    found = weights(Fails, ROWS, Sgd(**USUAL))
    assert not any(is_recorded(shapes))
    assert_same_bits(found, by_autograd(monkeypatch, Fails, ROWS, Sgd(**USUAL)))


SCALE = [1.0]


def grow():
    SCALE[0] *= 1.5


class ByOutside(Own):
    def between(self, z, x):
        return z * SCALE[0]


@pytest.mark.parametrize("num_rounds", [4, 7])
def test_a_number_from_outside_is_read_for_each_cohort(num_rounds, shapes, monkeypatch):
    def run(of):
        SCALE[0] = 1.0
        return of(ByOutside, ROWS, Sgd(**USUAL), num_rounds=num_rounds, between=grow)

    found = run(weights)
    assert any(shape.is_over for shape in shapes)
    assert_same_bits(found, run(lambda *of, **how: by_autograd(monkeypatch, *of, **how)))


def test_a_number_from_outside_that_stays_is_recorded(shapes):
    weights(ByOutside, ROWS, Sgd(**USUAL))
    assert all(is_recorded(shapes))


def test_a_recording_with_other_bits_is_not_used(shapes, monkeypatch):
    usual = transcript.Transcript.source

    def wrong(self, made):
        return usual(self, made).replace("tanh", "sigmoid")

    expected = by_autograd(monkeypatch, dense, ROWS, Sgd(**USUAL))
    shapes.clear()
    monkeypatch.setattr(transcript.Transcript, "source", wrong)
    assert_same_bits(weights(dense, ROWS, Sgd(**USUAL)), expected)
    assert is_recorded(shapes)
    assert not any(is_recorded(shapes))


def test_each_size_of_a_cohort_has_a_recording_of_its_own(shapes, monkeypatch):
    torch.manual_seed(1)
    learner = Learner(dense(), ROWS, num_workers=1, brings_weights=True)

    def run():
        model = learner.initial_model(1)
        for number in range(9):
            num_clients = 2 + number % 3 * 2
            model = mean(updates_of(model, number, Sgd(**USUAL), NUM_STEPS, num_clients, num_parts=8))
        return learner.weights(model)

    found = run()
    assert len(is_recorded(shapes)) > 1
    assert all(is_recorded(shapes))
    monkeypatch.setattr(recorded, "LEAST_STEPS", 10**9)
    recorded._found.clear()
    assert_same_bits(found, run())


def test_a_hook_on_every_module_makes_a_network_ones_own(shapes, monkeypatch):
    def scaled(module, inputs, outputs):
        return outputs * SCALE[0] if isinstance(module, nn.Tanh) else None

    def run(of):
        SCALE[0] = 1.0
        hook = nn.modules.module.register_module_forward_hook(scaled)
        try:
            return of(dense, ROWS, Sgd(**USUAL), num_rounds=5, between=grow)
        finally:
            hook.remove()

    found = run(weights)
    assert is_recorded(shapes)
    assert_same_bits(found, run(lambda *of, **how: by_autograd(monkeypatch, *of, **how)))


def test_the_pass_without_values_waits_where_it_imports_much(shapes, monkeypatch):
    monkeypatch.setattr(recorded, "LEAST_BEFORE_AN_IMPORT", 10**9)
    monkeypatch.delitem(sys.modules, recorded.COMPILER, raising=False)
    weights(ByOutside, ROWS, Sgd(**USUAL))
    assert not any(is_recorded(shapes))
    weights(dense, ROWS, Sgd(**USUAL))
    assert any(is_recorded(shapes))


def test_the_shapes_of_a_network_that_are_known_are_bounded(monkeypatch):
    monkeypatch.setattr(recorded, "MOST_SHAPES", 3)
    network, sizes = dense(), []
    for batch_size in range(1, 12):
        own = [values.detach() for values in network.parameters()]
        batch = recorded.Batch(
            own, [], torch.zeros(batch_size, 12), torch.zeros(batch_size, dtype=torch.int64)
        )
        names = [name for name, _ in network.named_parameters()]
        recorded.recorded(network, nn.functional.cross_entropy, lambda _: [], names, batch, 1)
        sizes.append(len(recorded._found[network]))
    assert max(sizes) == 4
    assert sizes[-1] < len(sizes)
