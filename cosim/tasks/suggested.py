"""Suggested: the default task of a system, by the targets of its data set."""

from typing import TYPE_CHECKING

from cosim.configuration import ConfigurationError
from cosim.data.pairs import is_one_hot
from cosim.tasks.classification import Classification
from cosim.tasks.port import Task
from cosim.tasks.regression import Regression

if TYPE_CHECKING:
    from cosim.data.dataset import Dataset

SUGGESTED = (Classification(), Regression())
"""Default tasks for classes and for quantities."""


def task_for(task: Task | None, dataset: "Dataset") -> Task:
    """Task that a system names, else the default for the targets of its data set.

    Raises:
        ConfigurationError: None is named, and the targets are rows with a 1 at the class.
    """
    if task is None and dataset.num_classes is None and is_one_hot(dataset.test_y):
        raise ConfigurationError(
            f"{dataset.name!r}: every target is a row with a 1 at its class (test_y has shape "
            f"{dataset.test_y.shape}). Use y.argmax(1); or, for quantities, task = Regression."
        )
    return task or SUGGESTED[dataset.num_classes is None]
