"""`relu_layers` must be all that a network is, for its forward pass is never called in training."""

import pytest
import torch
from data_sets import loaded
from torch import nn

import models
from cosim import ConfigurationError
from cosim.data import Synthetic
from cosim.engine.learning.learner import Learner
from models.mlp import Mlp

pytestmark = pytest.mark.quick

DATA = loaded(Synthetic())


class Changed(Mlp):
    """The network of `relu_layers`, but for what a function makes of the hidden units."""

    def __init__(self, of_units, sizes: tuple[int, ...] = (12, 9, 4)) -> None:
        super().__init__(sizes)
        self.of_units = of_units
        for p in self.parameters():
            nn.init.zeros_(p)  # with which all of these would give the same outputs

    def forward(self, x_BD):
        first, last = self.layers
        return last(self.of_units(first(x_BD)))


class OtherInTraining(Mlp):
    """Scaled outputs in training mode."""

    def forward(self, x_BD):
        return super().forward(x_BD) * (2.0 if self.training else 1.0)


class Skipping(Mlp):
    """Inputs are added to the hidden units."""

    def forward(self, x_BD):
        first, last = self.layers
        return last(torch.relu(first(x_BD)) + x_BD)


class Scaling(Mlp):
    """Samples are scaled first."""

    def forward(self, x_BD):
        return super().forward(x_BD / 16.0)


class Turned(nn.Module):
    """A weight that the forward pass takes the other way round."""

    relu_layers = (("weight", None),)

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(12, 4))

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)

    def forward(self, x_BD):
        return x_BD @ self.weight


@pytest.mark.parametrize(
    "network",
    [
        Changed(torch.tanh),
        Changed(nn.functional.leaky_relu),
        Changed(lambda x: torch.relu(x).softmax(-1)),
        OtherInTraining((12, 9, 4)),
        Skipping((12, 12, 4)),
        Scaling((12, 9, 4)),
        Turned(),
    ],
    ids=["tanh", "leaky", "softmax", "in training", "skip", "scaled", "turned"],
)
def test_a_network_that_is_more_than_its_relu_layers_is_refused(network):
    with pytest.raises(
        ConfigurationError, match=rf"relu_layers of {type(network).__name__}.*Leave relu_layers"
    ):
        Learner(network, DATA)
    network.relu_layers = None
    Learner(network, DATA)


def test_dropout_beside_relu_layers_is_refused():
    network = Changed(nn.Sequential(nn.ReLU(), nn.Dropout(0.2)))
    with pytest.raises(
        ConfigurationError, match=r"dropout in of_units\.1: relu_layers is .*Leave relu_layers"
    ):
        Learner(network, DATA)
    network.of_units[1].p = 0.0
    Learner(network, DATA)


@pytest.mark.parametrize("name", ["relu-12-4", "relu-12-9-8-7-6-4", "mlp-12-4", "mlp-12-500-300-4"])
def test_networks_that_are_their_relu_layers_are_taken(name):
    Learner(models.build(name), DATA)
