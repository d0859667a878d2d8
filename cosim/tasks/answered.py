"""Answered: rows of a network's outputs that give an answer, and the class that they predict.

A row of outputs with a nan in it gives no answer, nor does a row with several that are infinitely large,
since none of them is the largest. Outputs of -inf are legal, as for a class that is masked out. A sample
without an answer counts as wrong.

Usage::

    num_right = (predicted_classes(outputs_BK) == targets_B).sum()

Validation: tests/tasks/test_answered.py.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_CLASS = -1
"""Predicted class of a row that gives no answer."""


def are_answers(outputs_BK: Any) -> Any:
    """True for each row of outputs that gives an answer, shape (batch,).

    Args:
        outputs_BK: Outputs of a network, a tensor or an array, shape (batch, outputs).
    """
    rows = outputs_BK.reshape(len(outputs_BK), -1)
    return ~(rows != rows).any(1) & ((rows == math.inf).sum(1) < 2)  # only nan differs from itself


def predicted_classes(outputs_BK: Any) -> Any:
    """Class of the largest output of each row, the lowest of equal ones; `NO_CLASS` for no answer.

    Args:
        outputs_BK: Outputs of a network, a tensor or an array, shape (batch, classes).
    """
    classes_B = outputs_BK.argmax(1)
    classes_B[~are_answers(outputs_BK)] = NO_CLASS
    return classes_B


def label_ranks(outputs_BK: NDArray[np.float32], labels_B: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of classes that rank before the true one in each row; all of them if the row gives no answer.

    Of equal outputs the lower class comes first.

    Args:
        outputs_BK: Outputs of a network, shape (batch, classes).
        labels_B: The true classes, shape (batch,).
    """
    num_classes, labels_B1 = outputs_BK.shape[1], labels_B[:, None]
    true_B1 = np.take_along_axis(outputs_BK, labels_B1, 1)
    before_BK = (outputs_BK > true_B1) | ((outputs_BK == true_B1) & (np.arange(num_classes) < labels_B1))
    return np.where(are_answers(outputs_BK), before_BK.sum(1), num_classes)
