"""ReLU network without biases: the fully connected network of the HIST paper.

784-300-10 has 238,200 parameters, 0.909 MiB in float32. The paper says 0.91 MB, which fits a network with
biases as well; that it has none is inferred. [HIST journal, Section VI-B]
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

UnitGroups = dict[str, tuple[tuple[str, int], ...]]
"""Group name -> (parameter name, axis) pairs that the units of the group cut."""

ReluLayers = tuple[tuple[str, str | None], ...]
"""Of every layer, inputs first: the name of its weight, shape (outputs, inputs), and of its bias, or None."""


class ReluNetwork(nn.Module):
    """Matrices with ReLU between, no biases.

    Every second hidden layer (first, third, ...) is a group of units: a unit is one row of the weight before
    it and one column of the weight after it. [HIST journal, Section II-B, Fig. 1b]

    A weight that no group cuts (the last one of a network with an even number of hidden layers; the only one
    of a network with none) is whole in every cell, and averaged over the cells when a model is assembled.

    Args:
        sizes: Units per layer, inputs first, classes last.

    Attributes:
        unit_groups: Group name -> (parameter name, axis) pairs.
        relu_layers: Names of every layer's weight and bias; here no layer has a bias.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(num_inputs, num_outputs, bias=False) for num_inputs, num_outputs in pairwise(sizes)
        )
        self.relu_layers: ReluLayers = tuple((f"layers.{i}.weight", None) for i in range(len(self.layers)))
        self.unit_groups: UnitGroups = {
            f"hidden{i + 1}": ((f"layers.{i}.weight", 0), (f"layers.{i + 1}.weight", 1))
            for i in range(0, len(self.layers) - 1, 2)
        }

    def forward(self, x_BD: Tensor) -> Tensor:
        """Class scores (logits), shape (batch, classes), of samples of shape (batch, inputs)."""
        *hidden, last = self.layers
        for layer in hidden:
            x_BD = torch.relu(layer(x_BD))
        return last(x_BD)
