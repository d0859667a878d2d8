"""Forward passes that draw where no key reaches: found, named and refused before anything is trained."""

import random
import threading
from typing import ClassVar

import numpy as np
import pytest
import torch
from data_sets import loaded
from torch import nn
from torch.nn import functional

from cosim import ConfigurationError
from cosim.data import Synthetic
from cosim.engine.learning.learner import Learner

DATA = loaded(Synthetic())


class Block(nn.Module):
    """Adds to its inputs what a function draws, always or in training mode only."""

    def __init__(self, drawn, only_in_training: bool) -> None:
        super().__init__()
        self.drawn, self.only_in_training = drawn, only_in_training

    def forward(self, x_BD):
        return x_BD + self.drawn(x_BD) if self.training or not self.only_in_training else x_BD


class Recurrent(nn.Module):
    """Twelve features as a series of four vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 5, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(5, 4)

    def forward(self, x_BD):
        return self.head(self.lstm(x_BD.unflatten(-1, (4, 3)))[0][:, -1])


class Attentive(nn.Module):
    """The same series, by attention."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(3, 1, dropout=dropout, batch_first=True)
        self.head = nn.Linear(12, 4)

    def forward(self, x_BD):
        x_BTD = x_BD.unflatten(-1, (4, 3))
        return self.head(self.attention(x_BTD, x_BTD, x_BTD)[0].flatten(1))


class ItsOwn(nn.Linear):
    """A network that is one layer, and drops by itself."""

    def __init__(self) -> None:
        super().__init__(12, 4)

    def forward(self, x_BD):
        return functional.dropout(super().forward(x_BD), 0.1, self.training)


class Stubborn(nn.Dropout):
    """Dropout that stays in training mode, which Monte Carlo dropout is made with."""

    def train(self, mode: bool = True):
        return super().train(True)


class WithAForwardOfItsOwn(nn.Dropout):
    """Not torch's dropout."""

    def forward(self, input):
        return functional.dropout(input, self.p, self.training) + 1.0


def after_a_layer(module: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(12, 4), nn.Sequential(nn.Identity(), module))


TORCHS, NUMPYS, PYTHONS = "torch's", "numpy's", "Python's"
torch.manual_seed(1)  # so that RReLU, which draws for negative inputs only, has some
DRAWING = {
    "dropout": (after_a_layer(Block(functional.dropout, False)), "evaluation", r"1\.1 \(Block\)", TORCHS),
    "rand": (after_a_layer(Block(torch.rand_like, True)), "training", r"1\.1 \(Block\)", TORCHS),
    "numpy": (
        after_a_layer(Block(lambda x: np.random.random(), True)),  # noqa: NPY002
        *("training", r"1\.1 \(Block\)", NUMPYS),
    ),
    "random": (
        after_a_layer(Block(lambda x: random.random(), False)),
        *("evaluation", r"1\.1 \(Block\)", PYTHONS),
    ),
    "RReLU": (after_a_layer(nn.RReLU()), "training", r"1\.1 \(RReLU\)", TORCHS),
    "LSTM": (Recurrent(), "training", r"lstm \(LSTM\)", TORCHS),
    "attention": (Attentive(0.1), "training", r"attention \(MultiheadAttention\)", TORCHS),
    "its own": (ItsOwn(), "training", r"the network itself \(ItsOwn\)", TORCHS),
    "stubborn": (after_a_layer(Stubborn()), "evaluation", r"1\.1 \(Stubborn\)", TORCHS),
    "subclass": (
        after_a_layer(WithAForwardOfItsOwn()),
        *("training", r"1\.1 \(WithAForwardOfItsOwn\)", TORCHS),
    ),
}


@pytest.mark.parametrize(("network", "mode", "module", "generator"), DRAWING.values(), ids=DRAWING.keys())
def test_the_innermost_module_that_draws_is_named(network, mode, module, generator):
    states = torch.get_rng_state(), str(np.random.get_state()[1:]), random.getstate()  # noqa: NPY002
    message = rf"in {mode} mode: {module} draws from {generator} global generator, .* Use nn.Dropout layers"
    with pytest.raises(ConfigurationError, match=message):
        Learner(network, DATA)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (str(np.random.get_state()[1:]), random.getstate()) == states[1:]  # noqa: NPY002
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in network.modules())


@pytest.mark.parametrize(
    "network",
    [Attentive(0.0), after_a_layer(nn.BatchNorm1d(4)), after_a_layer(nn.Dropout(0.5))],
    ids=["attention", "normalisation", "dropout"],
)
def test_networks_that_do_not_draw_are_taken(network):
    Learner(network, DATA)


class OnlyOne(nn.Linear):
    """A layer that takes one sample when it trains."""

    def forward(self, x_BD):
        if self.training and len(x_BD) > 1:
            raise ValueError("one at a time")
        return super().forward(x_BD)


def test_a_network_that_fails_in_training_mode_is_refused():
    with pytest.raises(
        ConfigurationError, match=r"not two of them in training mode \(one at a time\)\. Use "
    ):
        Learner(OnlyOne(12, 4), DATA)


class Accompanied(nn.Module):
    """Another thread draws from Python's generator while it works, as many times as are left."""

    left: ClassVar[list[int]] = []

    def forward(self, x_BD):
        if self.left and self.left.pop():
            other = threading.Thread(target=random.random)
            other.start()
            other.join()
        return x_BD


@pytest.mark.parametrize("times", [[1], [0, 1], [1, 1, 0, 1, 1, 1]])
def test_what_another_thread_draws_now_and_then_is_not_the_networks(times):
    """The threads of a Dask worker do."""
    Accompanied.left[:] = times
    Learner(after_a_layer(Accompanied()), DATA)
    assert not Accompanied.left
