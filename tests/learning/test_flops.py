"""Operations of training, counted by torch, against counts by hand."""

import numpy as np
import pytest
import torch
from torch import nn

import models
from cosim.learning.datasets import load
from cosim.learning.learner import Learner
from cosim.learning.submodels import draw_parts

DATA = load("synthetic")
RNG = np.random.default_rng(1)


@pytest.mark.parametrize("hidden", [8, 2])
def test_dense_layers_by_hand(hidden):
    """Products: outputs, weight gradients, and the gradient of the hidden layer; an addition for each."""
    learner = Learner(models.build("relu-12-8-4"), DATA)
    (part, *_) = draw_parts({"hidden1": 8}, {"hidden1": (hidden, 8 - hidden) if hidden < 8 else (8,)}, RNG)
    by_hand = 2 * (2 * (12 * hidden + hidden * 4) + hidden * 4)
    assert learner.training_flops(part) == by_hand
    assert (learner.training_flops() == by_hand) == (hidden == 8)


class Pictures(nn.Module):
    """12 features as 3 x 2 x 2: 1 x 1 convolutions to 6 and 2 maps, a frozen dense layer, a dense layer."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 6, 1, bias=False), nn.Conv2d(6, 2, 1, bias=False)
        self.frozen, self.last = nn.Linear(8, 8, bias=False), nn.Linear(8, 4, bias=False)
        self.frozen.requires_grad_(False)
        self.unit_groups = {"maps": (("one.weight", 0), ("two.weight", 1))}

    def forward(self, x_BD):
        maps = self.two(torch.relu(self.one(x_BD.view(-1, 3, 2, 2))))
        return self.last(self.frozen(maps.flatten(1)))


@pytest.mark.parametrize("width", [6, 4, 1])
def test_convolutions_count_for_every_position_and_frozen_layers_for_what_passes(width):
    learner = Learner(Pictures(), DATA)
    (part, *_) = draw_parts({"maps": 6}, {"maps": (width, 6 - width) if width < 6 else (6,)}, RNG)
    one, two = 4 * 3 * width, 4 * width * 2
    frozen, last = 8 * 8, 8 * 4
    forward = one + two + frozen + last
    backward = one + 2 * two + frozen + 2 * last  # nobody needs the gradient of the samples
    assert learner.training_flops(part) == 2 * (forward + backward)
