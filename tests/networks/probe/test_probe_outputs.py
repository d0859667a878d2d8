"""Inputs and outputs of a network are refused in a sentence before anything is trained, or it trains."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from cosim import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.nothing_learned import NothingLearned

X = np.random.default_rng(1).standard_normal((40, 6), np.float32)
DATA = Dataset.of("rows", (X[:30], np.arange(30) % 3), (X[30:], np.arange(10) % 3))


class Giving(nn.Module):
    """Outputs that a function makes of the scores of a layer."""

    def __init__(self, gives, only_in_training: bool = False) -> None:
        super().__init__()
        self.layer, self.gives, self.only_in_training = nn.Linear(6, 3), gives, only_in_training

    def forward(self, x_BD):
        y_BK = self.layer(x_BD)
        return self.gives(y_BK) if self.training or not self.only_in_training else y_BK


@dataclasses.dataclass
class Scores:
    """Scores and something else."""

    scores: torch.Tensor
    features: torch.Tensor


class WithAuxiliary(NamedTuple):
    """Outputs like Inception's in training."""

    main: torch.Tensor
    auxiliary: torch.Tensor


class OfTwo(nn.Module):
    """Wants two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(12, 3)

    def forward(self, left_BD, right_BD):
        return self.layer(torch.cat((left_BD, right_BD), 1))


def of_transformers(y):
    from transformers.modeling_outputs import SequenceClassifierOutput  # seconds, which other processes save

    return SequenceClassifierOutput(loss=y.sum(), logits=y)


GIVEN = {
    "a dictionary": (
        Giving(lambda y: {"logits": y, "features": y}),
        r"a dict of logits.*outputs\['logits'\]",
    ),
    "of transformers": (
        Giving(of_transformers),
        r"a SequenceClassifierOutput of loss, logits.*outputs\['logits'\]",
    ),
    "a dataclass": (Giving(lambda y: Scores(y, y)), r"a Scores of scores, features.*outputs\.scores"),
    "a tuple": (Giving(lambda y: (y, y)), r"a tuple of 2.*outputs\[0\]"),
    "a named tuple": (Giving(lambda y: WithAuxiliary(y, y)), r"a WithAuxiliary of 2.*outputs\.main"),
    "nothing": (Giving(lambda y: None), r"gives None"),
    "a number": (Giving(lambda y: 1.0), r"gives a float"),
    "float64": (Giving(lambda y: y.double()), r"outputs of torch.float64.*\.float\(\)"),
    "bfloat16": (Giving(lambda y: y.bfloat16()), r"outputs of torch.bfloat16.*\.float\(\)"),
    "classes": (Giving(lambda y: y > 0), r"outputs of torch.bool.*before argmax"),
    "one axis less": (Giving(lambda y: y.squeeze()), r"shape \(3,\) for one sample"),
    "one axis more": (Giving(lambda y: y[None]), r"shape \(1, 1, 3\) for one sample"),
}


@pytest.mark.parametrize(("network", "words"), GIVEN.values(), ids=GIVEN)
def test_outputs_that_are_no_scores_are_refused(network, words):
    with pytest.raises(ConfigurationError, match=words):
        Learner(network, DATA, num_workers=1)
    with pytest.raises(ConfigurationError, match=words):
        NothingLearned(network, DATA)


IN_TRAINING = {
    "auxiliary": (lambda y: WithAuxiliary(y, y), "in training mode gives a WithAuxiliary of 2"),
    "two ensembles": (
        lambda y: torch.cat((y, y)),
        r"\(4, 3\) for 2 samples in training .* be \(2, 3\)",
    ),
    "more scores": (lambda y: torch.cat((y, y), 1), r"\(2, 6\) for 2 samples in training mode"),
    "the sum": (lambda y: y.sum(), r"\(\) for 2 samples in training mode"),
    "float64": (lambda y: y.double(), "outputs of torch.float64 in training mode"),
}


@pytest.mark.parametrize(("gives", "words"), IN_TRAINING.values(), ids=IN_TRAINING)
def test_outputs_of_training_mode_are_looked_at_too(gives, words):
    with pytest.raises(ConfigurationError, match=words):
        Learner(Giving(gives, only_in_training=True), DATA, num_workers=1)


def test_two_inputs_nothing_to_train_and_other_types_are_refused():
    refused = {
        "takes 2. Write a module that takes one": OfTwo(),
        "trains nothing: it has no parameters": nn.Sequential(nn.Flatten()),
        "trains nothing: all its 2 parameters are frozen": nn.Linear(6, 3).requires_grad_(False),
        r"weight is torch.float64: .* network.float\(\)": nn.Linear(6, 3).double(),
        r"weight is torch.bfloat16": nn.Linear(6, 3).bfloat16(),
        r"without detach\(\)": Giving(lambda y: y.detach(), only_in_training=True),
        "cannot be trained on them .*inplace": Giving(lambda y: y.relu().mul_(y).sigmoid().add_(y)),
        r"NameError: name 'missing' is not defined\). Mend": Giving(lambda y: missing),  # noqa: F821
    }
    for words, network in refused.items():
        with pytest.raises(ConfigurationError, match=words):
            Learner(network, DATA, num_workers=1)


@pytest.mark.parametrize("learn", [Learner, NothingLearned])
def test_lazy_layers_are_refused_until_they_have_seen_a_sample(learn):
    network = nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.Linear(5, 3))
    with pytest.raises(ConfigurationError, match=r"0 .LazyLinear. has no shape yet"):
        learn(network, DATA)
    network(torch.zeros(1, 6))
    learn(network, DATA)


# --- Tables -------------------------------------------------------------------------------------------------


TOKENS = np.random.default_rng(2).integers(1, 20, (50, 5))
TOKENS[:, 4] = TOKENS[:, 4] % 3  # a column with a table of its own


def tokens(at=None, token=0, dtype=np.int64):
    train, test = TOKENS[:40].astype(dtype), TOKENS[40:].astype(dtype)
    if at is not None:
        (train if at[0] < 40 else test)[at[0] % 40, at[1]] = token
    return Dataset.of("tokens", (train, np.arange(40) % 3), (test, np.arange(10) % 3))


class Embedding(nn.Module):
    """A table for all columns but the last, and one for that."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.last, self.head = nn.Embedding(20, 4), nn.Embedding(3, 4), nn.Linear(4, 3)

    def forward(self, x_BT):
        x_BT = x_BT.long()
        return self.head(self.table(x_BT[:, :4]).mean(1) + self.last(x_BT[:, 4]))


class OneHot(nn.Module):
    """Vectors with a one."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(20, 3)

    def forward(self, x_BT):
        return self.head(functional.one_hot(x_BT.long(), 20).float().mean(1))


class Gathering(nn.Module):
    """A table that is a parameter, of which columns are taken."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Parameter(torch.randn(1, 20)), nn.Linear(5, 3)

    def reset_parameters(self) -> None:
        nn.init.normal_(self.table)

    def forward(self, x_BT):
        return self.head(self.table.expand(len(x_BT), 20).gather(1, x_BT.long()))


class Indexing(Gathering):
    """The same by an index."""

    def forward(self, x_BT):
        return self.head(self.table[0][x_BT.long()])


class Bag(nn.Module):
    """Sums of rows of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.EmbeddingBag(20, 4, mode="sum"), nn.Linear(4, 3)

    def forward(self, x_BT):
        return self.head(self.table(x_BT.long()))


class Packed(nn.Module):
    """Takes the first value for a length, which no row of extremes is."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.rnn, self.head = nn.Embedding(20, 4), nn.RNN(4, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x_BT):
        x_BT = x_BT.long()
        lengths_B = (x_BT != 1).sum(1).clamp(min=1)
        z = nn.utils.rnn.pack_padded_sequence(self.table(x_BT), lengths_B, True, enforce_sorted=False)
        if int(lengths_B.min()) == 1:
            raise ValueError("a text of one word")
        return self.head(self.rnn(z)[1][0])


@pytest.mark.parametrize("network", [Embedding(), OneHot(), Gathering(), Indexing(), Bag()])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_a_value_beyond_a_table_is_refused_wherever_it_is(network, dtype):
    Learner(network, tokens(dtype=dtype), num_workers=1)
    for at, value in (((17, 1), 20), ((39, 0), -30), ((41, 3), 20)):
        with pytest.raises(ConfigurationError, match=r"does not take"):
            Learner(network, tokens(at, value, dtype), num_workers=1)


def test_the_sample_is_named_and_every_column_has_its_own_extremes():
    with pytest.raises(ConfigurationError, match=r"training sample 23 of 'tokens', with .* from .* to 19"):
        Learner(Embedding(), tokens((23, 4), 19), num_workers=1)
    with pytest.raises(ConfigurationError, match=r"test sample 3 of 'tokens', with values from -1 to"):
        Learner(Embedding(), tokens((43, 4), -1), num_workers=1)


def test_a_row_of_extremes_that_is_in_no_sample_is_no_reason_to_refuse():
    Learner(Packed(), tokens(), num_workers=1)
    with pytest.raises(ConfigurationError, match="training sample 9 of"):
        Learner(Packed(), tokens((9, 2), 20), num_workers=1)
