"""A forward pass that remembers is refused before the clock starts; what the next one overwrites is not."""

import random
import threading
import warnings
from collections import deque

import attrs
import numpy as np
import pytest
import torch
from torch import nn

from cosim import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

X = np.random.default_rng(1).standard_normal((40, 6), np.float32)
DATA = Dataset.of("rows", (X[:30], np.arange(30) % 3), (X[30:], np.arange(10) % 3))
NUM_CALLS = 0
SEEN: list[int] = []


class Remembering(nn.Module):
    """A layer, and something that its forward pass does besides."""

    num_of_all = 0

    def __init__(self, does, **kept) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.does = does
        vars(self).update(kept)

    def forward(self, x_BD):
        found = self.does(self, x_BD, self.layer(x_BD))
        return self.layer(x_BD) if found is None else found


class InAGlobal(nn.Linear):
    """Counts in its file."""

    def forward(self, x_BD):
        global NUM_CALLS
        NUM_CALLS += 1
        return super().forward(x_BD)


class InAGlobalOfAFunction(nn.Linear):
    """Counts in a list of its file, by a function."""

    def forward(self, x_BD):
        count(len(x_BD))
        return super().forward(x_BD)


def count(num):
    SEEN.append(num)


def counts(self, x, y):
    self.calls += 1


def counts_in_its_class(self, x, y):
    type(self).num_of_all += 1


def appends(self, x, y):
    self.history.append(float(x.detach().sum()) if not torch._C._functorch.is_batchedtensor(x) else 0.0)


def averages(self, x, y):
    self.mean = 0.9 * self.mean + 0.1 * y.detach().mean(0)
    return y - self.mean


def moves_an_array(self, x, y):
    self.seen += len(x)


def draws(self, x, y):
    return y + torch.randn(y.shape, generator=self.noise)


def draws_of_numpy(self, x, y):
    return y * self.noise.random()


def draws_of_python(self, x, y):
    return y * self.noise.random()


def caches_the_first(self, x, y):
    if self.scale is None:
        self.scale = x.detach().abs().max()
    return y / self.scale


def caches_a_weight(self, x, y):
    if self.scale is None:
        self.scale = self.layer.weight.detach() / self.layer.weight.detach().norm()
    return x @ self.scale.mT


def of_the_last(self, x, y):
    found, self.last = y + (0.0 if self.last is None else self.last), y.detach().mean(0)
    return found


def only_in_training(self, x, y):
    self.calls += self.training


def around():
    num = 0

    def does(self, x, y):
        nonlocal num
        num += 1
        return y * num

    return does


def with_a_hook():
    network, num = nn.Linear(6, 3), [0]

    def counted(layer, inputs, outputs):
        num[0] += 1
        return outputs * num[0]

    network.register_forward_hook(counted)
    return network


REFUSED = {
    "a variable around a hook": (with_a_hook(), "depend on earlier inputs"),
    "a counter": (Remembering(counts, calls=0), "training mode keeps calls from one"),
    "a counter in training": (Remembering(only_in_training, calls=0), "training mode keeps calls"),
    "a counter of the class": (Remembering(counts_in_its_class), r"keeps Remembering\.num_of_all"),
    "a list": (Remembering(appends, history=[]), "keeps history"),
    "a queue": (Remembering(appends, history=deque()), "keeps history"),
    "a running mean": (Remembering(averages, mean=torch.zeros(3)), "keeps mean .*register_buffer"),
    "an array": (Remembering(moves_an_array, seen=np.zeros(1)), "keeps seen"),
    "a torch generator": (Remembering(draws, noise=torch.Generator()), "keeps noise"),
    "a numpy generator": (Remembering(draws_of_numpy, noise=np.random.default_rng(1)), "keeps noise"),
    "a python generator": (Remembering(draws_of_python, noise=random.Random(1)), "keeps noise"),
    "the first batch": (Remembering(caches_the_first, scale=None), "keeps scale"),
    "the first weights": (Remembering(caches_a_weight, scale=None), "keeps scale"),
    "the last batch": (Remembering(of_the_last, last=None), "depend on earlier inputs"),
    "a global": (InAGlobal(6, 3), "keeps the global NUM_CALLS"),
    "a list of the file": (InAGlobalOfAFunction(6, 3), "keeps the global SEEN"),
    "a variable around it": (Remembering(around()), "keeps the variable num around does"),
}


@pytest.mark.parametrize(("network", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_kept_from_one_pass_to_the_next_is_refused(network, words):
    with pytest.raises(ConfigurationError, match=words):
        Learner(network, DATA, num_workers=1)


def looks(self, x, y):
    self.seen = y


def notes_shapes(self, x, y):
    self.shape, self.shapes = x.shape, {"inputs": list(x.shape)}


def makes_a_table(self, x, y):
    if self.table is None:
        self.table = torch.arange(3.0)
    return y + self.table


HARMLESS = {
    "what is looked at": Remembering(looks, seen=None),
    "shapes": Remembering(notes_shapes, shape=None),
    "a table of constants": Remembering(makes_a_table, table=None),
}


@pytest.mark.parametrize("kind", HARMLESS)
@pytest.mark.parametrize("together", [True, False])
def test_what_the_next_pass_overwrites_trains_as_if_it_were_not_there(kind, together):
    plain = Remembering(lambda self, x, y: y + torch.arange(3.0) if "table" in kind else None)
    learners = [Learner(network, DATA, num_workers=2) for network in (HARMLESS[kind], plain)]
    for learner in learners:
        assert learner.manner.together
        learner.manner = attrs.evolve(learner.manner, together=together)
    found, expected = map(trained, learners)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-7)


class Keeping(Remembering):
    """An object that cannot be copied."""

    def __init__(self, kept) -> None:
        super().__init__(looks, kept=kept)


def test_what_cannot_be_copied_is_refused():
    used = Remembering(looks, seen=None)
    used(torch.ones(1, 6))
    for network in (used, Keeping(threading.Lock()), Keeping(x for x in ())):
        with pytest.raises(ConfigurationError, match="cannot be copied"):
            Learner(network, DATA, num_workers=1)
    used.seen = used.seen.detach()
    Learner(used, DATA, num_workers=1)


def test_hooks_on_gradients_and_compiled_networks_are_refused():
    """Both would train otherwise than by torch, or not at all."""
    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        network = nn.Linear(6, 3)
        getattr(network.weight, register)(lambda gradient: None)
        with pytest.raises(ConfigurationError, match="weight has a hook on its gradient"):
            Learner(network, DATA, num_workers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.jit.script(nn.Linear(6, 3))
    with pytest.raises(ConfigurationError, match=r"compiled by torch\.jit"):
        Learner(compiled, DATA, num_workers=1)


def trained(learner):
    """The mean of four clients after three steps each, and again after three steps from there."""
    model = learner.initial_model(1)
    for begin in (0, 4):
        own = [np.arange(client, 30, 4) for client in range(4)]
        rule = Sgd(batch_size=4, learning_rate=0.3)
        updates = [
            PendingUpdate(
                client=f"client-{client}",
                model=model,
                samples=of,
                num_steps=3,
                training=rule,
                key=begin + client,
            )
            for client, of in enumerate(own)
        ]
        model = mean(updates)
    return learner.weights(model)


class ByAList(nn.Module):
    """Reaches its weight by a list."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.weights = [self.layer.weight]

    def forward(self, x_BD):
        return x_BD @ self.weights[0].mT + self.layer.bias


class OfAList(nn.Module):
    """Layers of which the module does not know."""

    def __init__(self, kind=list) -> None:
        super().__init__()
        self.first, self.rest = nn.Linear(6, 3), kind([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x_BD):
        x_BD = self.first(x_BD)
        for layer in self.rest:
            x_BD = layer(x_BD)
        return x_BD


def test_weights_that_are_reached_by_another_way_are_refused():
    with pytest.raises(ConfigurationError, match="do not follow the values of its parameters"):
        Learner(ByAList(), DATA, num_workers=1)
    with pytest.raises(ConfigurationError, match=r"rest holds parameters .* not be trained.*ModuleList"):
        Learner(OfAList(), DATA, num_workers=1)
    frozen = OfAList(lambda layers: [layer.requires_grad_(False) for layer in layers])
    for network in (OfAList(nn.ModuleList), frozen):
        Learner(network, DATA, num_workers=1)
