"""The contract of networks: ordinary ones keep it, and for each law one that breaks it is caught."""

import numpy as np
import pytest
import torch
from torch import nn

import cosim
from cosim.testing import BrokenLaw, check_network

pytestmark = pytest.mark.quick


def texts(_folder):
    x = 1 + np.arange(1200).reshape(200, 6) ** 2 % 19
    return (x[:160], x[:160].sum(1) % 3), (x[160:], x[160:].sum(1) % 3)


class Packed(nn.Module):
    """Texts of several lengths, which only train one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.rnn, self.head = nn.Embedding(20, 4), nn.GRU(4, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x_BT):
        lengths_B = 1 + x_BT[:, 0] % 6
        z = nn.utils.rnn.pack_padded_sequence(self.table(x_BT), lengths_B, True, enforce_sorted=False)
        return self.head(self.rnn(z)[1][-1])


def normalised():
    return nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 4))


def test_ordinary_networks_keep_it():
    check_network(f"{__name__}:normalised")
    check_network(Packed(), data=cosim.Arrays(source=f"{__name__}:texts"))


class Box:
    """Holds a number where nothing looks."""

    __slots__ = ("num",)

    def __init__(self) -> None:
        self.num = 0


class Tiring(nn.Linear):
    """Gives less after some passes, more of which are made in training than in any trial."""

    def __init__(self) -> None:
        super().__init__(12, 4)
        self.box = Box()

    def forward(self, x_BD):
        self.box.num += 1
        return super().forward(x_BD) * (0.5 if self.box.num > 5 else 1.0)


class AmongOthers(nn.Linear):
    """Takes the mean of the batch away."""

    def forward(self, x_BD):
        return super().forward(x_BD - x_BD.mean(0))


class Unseeded(nn.Linear):
    """First values that no seed determines."""

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.weight.copy_(torch.tensor(np.random.default_rng().normal(size=self.weight.shape)))
            self.bias.zero_()


class InADictionary(nn.Linear):
    """Outputs by name."""

    def forward(self, x_BD):
        return {"logits": super().forward(x_BD)}


class Counting(nn.Linear):
    """Counts its passes."""

    calls = 0

    def forward(self, x_BD):
        self.calls += 1
        return super().forward(x_BD)


BROKEN = {
    "tiring": (Tiring, "plain loop: weight of clients that are trained .* is another"),
    "among others": (lambda: AmongOthers(12, 4), "own outputs: .*batch_first"),
    "unseeded": (lambda: Unseeded(12, 4), "initial weights: weights weight differ for one seed"),
    "a dictionary": (lambda: InADictionary(12, 4), r"before the clock: .*outputs\['logits'\]"),
    "counting": (lambda: Counting(12, 4), "before the clock: .*keeps calls"),
    "another number of classes": (lambda: nn.Linear(12, 3), r"before the clock: .*must be \(1, 4\)"),
}


@pytest.mark.parametrize(("make", "words"), BROKEN.values(), ids=BROKEN)
def test_a_network_that_breaks_a_law_is_caught(make, words):
    with pytest.raises(BrokenLaw, match=words):
        check_network(make())


def test_a_name_that_is_none_is_told():
    with pytest.raises(BrokenLaw, match=r"before the clock: System\.model"):
        check_network("nonsense-12-4")
