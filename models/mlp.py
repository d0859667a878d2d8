"""Multilayer perceptron: fully connected layers with biases and ReLU between."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from models.relu_network import ReluLayers, UnitGroups


class Mlp(nn.Module):
    """Fully connected layers with biases, ReLU between.

    Every second hidden layer (first, third, ...) is a group of units: a unit is one row of the weight and one
    element of the bias before it, and one column of the weight after it. [HIST journal, Section II-B]

    Parameters that no group cuts (the bias of the output and of each second hidden layer; the last weight of
    a network with an even number of hidden layers) are whole in every cell, and averaged over the cells when
    a model is assembled.

    Args:
        sizes: Units per layer, inputs first, classes last.
        dropout: Share of the hidden units that are dropped while training.

    Attributes:
        unit_groups: Group name -> (parameter name, axis) pairs.
        relu_layers: Names of every layer's weight and bias; not there with dropout.
    """

    def __init__(self, sizes: tuple[int, ...], dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(num_inputs, num_outputs) for num_inputs, num_outputs in pairwise(sizes)
        )
        self.dropout = nn.Dropout(dropout) if dropout else None
        if not dropout:
            self.relu_layers: ReluLayers = tuple(
                (f"layers.{i}.weight", f"layers.{i}.bias") for i in range(len(self.layers))
            )
        self.unit_groups: UnitGroups = {
            f"hidden{i + 1}": (
                (f"layers.{i}.weight", 0),
                (f"layers.{i}.bias", 0),
                (f"layers.{i + 1}.weight", 1),
            )
            for i in range(0, len(self.layers) - 1, 2)
        }

    def forward(self, x_BD: Tensor) -> Tensor:
        """Class scores (logits), shape (batch, classes), of samples of shape (batch, inputs)."""
        *hidden, last = self.layers
        for layer in hidden:
            x_BD = torch.relu(layer(x_BD))
            if self.dropout:
                x_BD = self.dropout(x_BD)
        return last(x_BD)
