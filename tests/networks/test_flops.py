"""Operations of training, counted by torch, against counts by hand."""

import numpy as np
import pytest
import torch
from data_sets import loaded
from torch import nn

import models
from cosim.data import Synthetic
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.protocols.drawn_parts import draw_parts

pytestmark = pytest.mark.quick

DATA = loaded(Synthetic())
RNG = np.random.default_rng(1)


@pytest.mark.parametrize("hidden", [8, 2])
def test_dense_layers_by_hand(hidden):
    """Products: outputs, weight gradients, and the gradient of the hidden layer; an addition for each."""
    learner = Learner(models.build("relu-12-8-4"), DATA)
    (part, *_) = draw_parts({"hidden1": 8}, {"hidden1": (hidden, 8 - hidden) if hidden < 8 else (8,)}, RNG)
    by_hand = 2 * (2 * (12 * hidden + hidden * 4) + hidden * 4)
    assert learner.flops.of(part) == by_hand
    assert (learner.flops.of() == by_hand) == (hidden == 8)


def vertical_data(num_global_features: int) -> Dataset:
    x, y = np.zeros((8, 7), np.float32), np.zeros(8, np.float32)
    return Dataset(
        name="toy",
        train_x=x,
        train_y=y,
        test_x=x,
        test_y=y,
        num_classes=None,
        num_global_features=num_global_features,
    )


def test_a_network_in_two_parts_counts_as_a_whole_or_as_the_clients_part():
    """4-8-5 of the server, 3-8-5 and (5 + 5)-8-1 of a client, whose inputs hold 5 that want a gradient."""
    learner = Learner(models.build("vertical-4-3-8-5"), vertical_data(4))
    own = 3 * 8 + 8 * 5 + 10 * 8 + 8 * 1
    assert learner.flops.of_clients_part() == 2 * 3 * own
    assert learner.flops.of() == 2 * (2 * 4 * 8 + 3 * (8 * 5 + own))


def test_a_network_in_one_part_is_all_the_clients():
    learner = Learner(models.build("horizontal-7-8-5"), vertical_data(0))
    assert learner.flops.of_clients_part() == 2 * (2 * 7 * 8 + 3 * (8 * 5 + 5 * 8 + 8 * 1))


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
    backward = one + 2 * two + frozen + 2 * last  # the gradient of the samples is not needed
    assert learner.flops.of(part) == 2 * (forward + backward)
