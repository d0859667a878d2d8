"""ResNet-18, the residual network that the HIST paper trains on CIFAR-10.

A stem, four stages of two basic blocks each, the mean over the picture, and one dense layer. A basic block
adds its input to what two convolutions of 3 x 3, each with batch normalisation, make of it; the first block
of stages 2 to 4 halves rows and columns, doubles the channels and passes its input through a 1 x 1
convolution. Names, shapes and computation equal torchvision's resnet18, whose stem is "imagenet".

| stem | picture | outputs | parameters | cut | running statistics |
|---|---|---|---|---|---|
| imagenet | 3 x 224 x 224 | 1,000 | 11,689,512 | 10,989,312 (94.0 %) | 9,600 |
| cifar | 3 x 32 x 32 | 10 | 11,173,962 | 10,989,312 (98.3 %) | 9,600 |

What is cut: the channels between the two convolutions of every block, each block a group of its own. So
convolutions are cut alternately [HIST journal, Remark 1], each normalisation layer inside a block follows its
channels, and what enters and leaves a block keeps its shape in every part, as the sum needs. The stem, the
second normalisation of a block, the 1 x 1 convolutions with their normalisation and the dense layer are whole
in every cell, and averaged when a model is assembled. Of the running statistics 3,840 are cut. A channel is
off when its column of `conv2` is zero, or its weight and bias in `bn1`; a row of `conv1` alone leaves what
`bn1` adds.

Running statistics are buffers that training mode moves and evaluation mode uses. They are averaged like
weights: all over the clients of a cell, the stem's and the 1 x 1 convolutions' over the cells too. A mean of
variances is not the variance of all samples together: it leaves out the variance between the means of the
clients, so with different data it is too small. The second normalisation of a block normalises a sum over the
channels between the convolutions, of which a part holds some: its statistics are declared as a sum's
(`summed_statistics`), so a part has its share of them and disjoint parts add up, exactly for means, for
variances as if channels were uncorrelated (no source). Averaged instead, an assembled network would be
evaluated with a mean and a variance N times too small.

Scope and limitations: no bottleneck blocks, no other depths; initial weights are what torch's own
`reset_parameters` draws for each layer (uniform, bound 1 / sqrt(fan-in); normalisation 1 and 0), not
torchvision's normal distribution by fan-out. Layers do not count their batches (`num_batches_tracked`), for
a counter is no weight; running statistics forget with momentum 0.1. Training mode under `torch.func.vmap`
needs running statistics stacked over clients like the weights, and moves them in place.

The paper's Table II: every entry for HFedAvg is within 0.01 GB of a multiple of 0.436 GB, and 0.436 GB is ten
times the 11,689,512 parameters and 9,600 statistics in float32, GB meaning 2^30 bytes; so it is the network
with 1,000 outputs. Every entry for HIST in N cells is within 0.01 GB of a multiple of 0.436 GB / N, as if
nothing were whole. No cut of channels gives such parts: the 1 x 1 convolutions tie the channels that enter a
stage to the channels that leave it, so where one of them is cut, a whole convolution of 3 x 3 stays behind.
Of all sets of channels that cut no tensor twice the one above gives the smallest parts, 53 % of the network
in 2 cells and 30 % in 4, and the entries, but for one, are no multiples of these (`cosim reproduce
hist-table2`).

Usage::

    network = ResNet18(num_classes=10)                                          # 32 x 32 pictures
    network = ResNet18(num_classes=1000, stem="imagenet", picture_side=224)

Validation: the tests compare submodels with the masked network, the network with its formula, and the counts
with the counts above.

Source: HIST journal, Remark 1, Section VI-B.2, Table II; He, Zhang, Ren, Sun, "Deep residual learning for
image recognition", arXiv:1512.03385, Table 1 (18-layer), and Section 4.2 for the stem of 32 x 32 pictures.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, max_pool2d

from models.relu_network import UnitGroups

Stem = Literal["cifar", "imagenet"]


class BatchNorm(nn.Module):
    """Batch normalisation of channels, as torch's with momentum 0.1 and epsilon 1e-5, without its counter.

    torch's `BatchNorm2d` can be kept from counting, but then neither resets nor loads a plain dictionary.

    Args:
        num_channels: Elements of the weight, the bias and the running statistics.
    """

    def __init__(self, num_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_channels))
        self.bias = nn.Parameter(torch.empty(num_channels))
        self.running_mean: Tensor
        self.running_var: Tensor
        self.register_buffer("running_mean", torch.empty(num_channels))
        self.register_buffer("running_var", torch.empty(num_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight and running variance 1, bias and running mean 0."""
        for ones in (self.weight, self.running_var):
            nn.init.ones_(ones)
        for zeros in (self.bias, self.running_mean):
            nn.init.zeros_(zeros)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """By the batch's mean and variance, moving the running ones; in evaluation mode by the running."""
        return batch_norm(
            x_BCHW, self.running_mean, self.running_var, self.weight, self.bias, training=self.training
        )


class BasicBlock(nn.Module):
    """relu(downsample(x) + bn2(conv2(relu(bn1(conv1(x)))))), with 3 x 3 convolutions.

    Args:
        num_inputs: Channels of x.
        num_outputs: Channels of the result, and between the convolutions.
        stride: Of the first convolution; 2 halves rows and columns.
    """

    def __init__(self, num_inputs: int, num_outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(num_inputs, num_outputs, 3, stride, padding=1, bias=False)
        self.bn1 = BatchNorm(num_outputs)
        self.conv2 = nn.Conv2d(num_outputs, num_outputs, 3, padding=1, bias=False)
        self.bn2 = BatchNorm(num_outputs)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or num_inputs != num_outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(num_inputs, num_outputs, 1, stride, bias=False), BatchNorm(num_outputs)
            )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Channels, shape (batch, outputs, rows / stride, columns / stride)."""
        inner_BCHW = torch.relu(self.bn1(self.conv1(x_BCHW)))
        return torch.relu(self.downsample(x_BCHW) + self.bn2(self.conv2(inner_BCHW)))


class ResNet18(nn.Module):
    """Eight basic blocks between a stem and a dense layer, for colour pictures.

    A group of units per block, named as the block ("layer1.0" to "layer4.1"): a unit is one channel between
    its convolutions. [HIST journal, Remark 1]

    Args:
        num_classes: Outputs.
        width: Channels of the stem and the first stage; the later stages have 2, 4 and 8 times as many.
        stem: "cifar": a 3 x 3 convolution; "imagenet": 7 x 7 with stride 2, then a max pool with stride 2.
        picture_side: Rows and columns of a picture.
        num_colours: Colours of a picture; 1: grey levels.

    Attributes:
        unit_groups: Group name -> (name, axis) pairs, of parameters and of running statistics.
        moving_buffers: Names of all buffers.

    Raises:
        ValueError: no such stem.
    """

    def __init__(
        self,
        num_classes: int,
        width: int = 64,
        stem: Stem = "cifar",
        picture_side: int = 32,
        num_colours: int = 3,
    ) -> None:
        super().__init__()
        if stem not in ("cifar", "imagenet"):
            raise ValueError(f"ResNet18.stem = {stem!r}: must be cifar or imagenet. Use cifar.")
        self.picture = (num_colours, picture_side, picture_side)
        self.pools = stem == "imagenet"
        size, stride = (7, 2) if stem == "imagenet" else (3, 1)
        self.conv1 = nn.Conv2d(num_colours, width, size, stride, padding=size // 2, bias=False)
        self.bn1 = BatchNorm(width)
        self.layer1 = _stage(width, width, 1)
        self.layer2 = _stage(width, 2 * width, 2)
        self.layer3 = _stage(2 * width, 4 * width, 2)
        self.layer4 = _stage(4 * width, 8 * width, 2)
        self.fc = nn.Linear(8 * width, num_classes)
        self.unit_groups: UnitGroups = {
            name: _channels_between(name)
            for name, module in self.named_modules()
            if isinstance(module, BasicBlock)
        }
        self.summed_statistics = {
            f"{block}.bn2.{name}": block
            for block in self.unit_groups
            for name in ("running_mean", "running_var")
        }
        self.moving_buffers = tuple(name for name, _ in self.named_buffers())

    def forward(self, x_BD: Tensor) -> Tensor:
        """Class scores (logits), shape (batch, classes), of pictures as rows, shape (batch, features).

        Colours come first in a row, then rows of the picture.
        """
        maps_BCHW = x_BD.unflatten(-1, self.picture)
        maps_BCHW = torch.relu(self.bn1(self.conv1(maps_BCHW)))
        if self.pools:
            maps_BCHW = max_pool2d(maps_BCHW, 3, stride=2, padding=1)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            maps_BCHW = stage(maps_BCHW)
        return self.fc(maps_BCHW.mean((-2, -1)))


def _stage(num_inputs: int, num_outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(num_inputs, num_outputs, stride), BasicBlock(num_outputs, num_outputs, 1))


def _channels_between(block: str) -> tuple[tuple[str, int], ...]:
    """Tensors and axes that the channels between the two convolutions of a block cut."""
    normalisation = ("weight", "bias", "running_mean", "running_var")
    return (
        (f"{block}.conv1.weight", 0),
        *((f"{block}.bn1.{name}", 0) for name in normalisation),
        (f"{block}.conv2.weight", 1),
    )
