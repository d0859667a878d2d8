"""Scores: what is minimised and what is reported, for classification and for the prediction of a quantity.

| data set | loss | reported |
|---|---|---|
| classes | cross entropy | accuracy and cross entropy on the test set |
| a quantity | squared error | mean squared error on training and test set, error ratio on the test set |

Scope and limitations: one output per class, or one output.

Shape suffixes: B batch, K outputs.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from cosim.records import Evaluation, Prediction


class Score(NamedTuple):
    """A model that classifies, on the test set.

    Attributes:
        accuracy: Share of samples classified rightly, 0 to 1.
        loss_nats: Mean cross entropy.
    """

    accuracy: float
    loss_nats: float

    def record(self, time_s: float, global_round: int) -> Evaluation:
        """The row of this score."""
        return Evaluation(time_s, global_round, *self)


class ErrorScore(NamedTuple):
    """A model that predicts a quantity, in units of the data set's target.

    Attributes:
        train_mse: Mean squared error on the training set.
        test_mse: Mean squared error on the test set.
        error_ratio: Sum of the absolute errors over the sum of the absolute targets, on the test set.
    """

    train_mse: float
    test_mse: float
    error_ratio: float

    def record(self, time_s: float, global_round: int) -> Prediction:
        """The row of this score."""
        return Prediction(time_s, global_round, *self)


def cross_entropy(outputs_BK: Tensor, y_B: Tensor) -> Tensor:
    """Mean cross entropy of class scores."""
    return nn.functional.cross_entropy(outputs_BK, y_B)


def squared_error(outputs_B1: Tensor, y_B: Tensor) -> Tensor:
    """Mean squared error of one output."""
    return (outputs_B1.squeeze(-1) - y_B).square().mean()


def class_totals(outputs_BK: Tensor, y_B: Tensor) -> tuple[float, ...]:
    """Samples classified rightly, and the sum of their cross entropies."""
    loss_nats = nn.functional.cross_entropy(outputs_BK.double(), y_B, reduction="sum")
    return float((outputs_BK.argmax(1) == y_B).sum()), float(loss_nats)


def error_totals(outputs_B1: Tensor, y_B: Tensor) -> tuple[float, ...]:
    """Sums of squared errors, absolute errors and absolute targets."""
    error_B = outputs_B1.squeeze(-1).double() - y_B
    return tuple(float(x.sum()) for x in (error_B.square(), error_B.abs(), torch.abs(y_B.double())))
