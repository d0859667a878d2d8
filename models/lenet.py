"""LeNet-5, the convolutional network that the HIST paper trains on Fashion-MNIST.

Pictures of 28 x 28 grey levels pass two convolutions of 5 x 5, each with ReLU and a 2 x 2 max pool, and three
dense layers with ReLU between; all layers have biases. The padding of the first convolution decides how much
of the picture reaches the dense layers, and so their number of parameters:

| padding | after the second pool | convolutions | dense layers | all |
|---|---|---|---|---|
| 2 | 16 x 5 x 5 | 2,572 | 59,134 | 61,706 |
| 0 | 16 x 4 x 4 | 2,572 | 41,854 | 44,426 |

Scope and limitations: only dense layers are cut, as in the paper, and of these only what the units of the
first touch: 58,200 of 61,706 parameters (94.3 %) with padding 2, 40,920 of 44,426 (92.1 %) with padding 0. A
part of n of the 120 units has 3,506 + 485 n or 3,506 + 341 n parameters. Whole in every cell, and averaged
when a model is assembled, are the convolutions (2,572) and, of the dense layers, the second bias (84) and the
whole third layer (850): layers are cut alternately, so the third could only be cut by units of its input, and
then the second would be cut twice.

The paper counts in two ways. Its text gives the parameters of padding 2, 95.8 % of them dense. In Table I
every entry for HFedAvg is within 0.01 MB of a multiple of 1.69 MB, which is ten uploads of the network with
padding 0 in float32 (MB meaning 2^20 bytes); every entry for HIST in N cells is within 0.01 MB of a multiple
of 1.69 MB x (2572 + 59134 / N) / 61706, the share of padding 2 if every dense parameter were cut. No cut into
disjoint parts of hidden units has that size: the bias of the output, at least, is whole in every part.

Validation: the tests compare submodels with the masked network, and Table I with these numbers.

Source: HIST journal, Section VI-B.2 and Table I; LeCun, Bottou, Bengio, Haffner, "Gradient-based learning
applied to document recognition", Proc. IEEE 1998, whose layer sizes these are, with ReLU and max pools in
place of its squashing functions and trained pools, and without its gaps between channels.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from models.relu_network import UnitGroups

SIDE = 28
"""Rows and columns of a picture."""


class LeNet5(nn.Module):
    """Two convolutions and three dense layers, for pictures of 28 x 28 grey levels.

    One group of units, the 120 of the first dense layer: a unit is one row of the weight and one element of
    the bias of `fc1`, and one column of the weight of `fc2`. [HIST journal, Section VI-B.2]

    Args:
        num_classes: Outputs.
        padding: Rows and columns of zeros on each side of the picture.

    Attributes:
        unit_groups: Group name -> (parameter name, axis) pairs.

    Raises:
        ValueError: padding is neither 0 nor 2.
    """

    def __init__(self, num_classes: int = 10, padding: Literal[0, 2] = 0) -> None:
        super().__init__()
        if padding not in (0, 2):
            raise ValueError(
                f"LeNet5.padding = {padding}: must be 0 or 2. Use 2 for 61,706 parameters, else 0."
            )
        side = ((SIDE + 2 * padding - 4) // 2 - 4) // 2
        self.conv1 = nn.Conv2d(1, 6, 5, padding=padding)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * side * side, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)
        self.unit_groups: UnitGroups = {"fc1": (("fc1.weight", 0), ("fc1.bias", 0), ("fc2.weight", 1))}

    def forward(self, x_BD: Tensor) -> Tensor:
        """Class scores (logits), shape (batch, classes), of pictures as rows, shape (batch, 784)."""
        maps_BCHW = x_BD.unflatten(-1, (1, SIDE, SIDE))
        for layer in (self.conv1, self.conv2):
            maps_BCHW = torch.relu(max_pool2d(layer(maps_BCHW), 2))  # ReLU of a maximum is that of ReLUs
        units_BU = torch.relu(self.fc1(maps_BCHW.flatten(-3)))
        return self.fc3(torch.relu(self.fc2(units_BU)))
