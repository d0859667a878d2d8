"""Training set: the samples that clients train on, on one device."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.tasks.port import Task

if TYPE_CHECKING:
    from cosim.training.programs.batching import Batching
    from cosim.values.pending import PendingUpdate


def shared(array: NDArray[Any], device: str) -> Tensor:
    """An array as a tensor: on a CPU the same memory, which may be most of a run's memory.

    So a user's network or function never gets it, nor a view of it, but copies of what it asks for.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writ", UserWarning)
        return torch.from_numpy(array).to(device)


def batching_of(dataset: Dataset, task: Task) -> "Batching | None":
    """Batching that a data set names, if it suits a task; None means mini-batches."""
    batching = None if dataset.batching is None else dataset.batching()
    return batching if batching is not None and batching.suits(task) else None


class TrainingSet:
    """The training samples on one device.

    Args:
        dataset: Data set of the samples.
        device: Device that holds them.
        task: Task with the loss that is minimised.

    Attributes:
        x_ND: Features of the samples; of the rows, where y_N is None. To be copied from, not changed.
        y_N: Classes or targets; None means that samples are numbers row * num_classes + label.
        num_classes: Number of classes; None means that quantities are predicted.
        num_features: Number of features of a sample.
        num_sample_numbers: Number of distinct samples, which are whole numbers from 0 to one less than this.
        loss: Mean loss of a batch, from outputs and targets.
        is_cross_entropy: True if that is the cross entropy of class scores.
        batching: Batches of the clients' steps; None means mini-batches.
    """

    def __init__(self, dataset: Dataset, device: str, task: Task) -> None:
        self.x_ND = shared(dataset.train_x, device)
        self.y_N = None if dataset.train_y is None else torch.tensor(dataset.train_y, device=device)
        self.num_classes, self.num_features = dataset.num_classes, dataset.num_features
        self.num_sample_numbers = dataset.num_sample_numbers
        self.loss, self.is_cross_entropy = task.loss, task.form == "cross_entropy"
        self.batching = batching_of(dataset, task)

    def labelled(self, samples: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Features and classes or targets of samples, shapes (samples, ...)."""
        return self.at(torch.tensor(samples, device=self.x_ND.device))

    def at(self, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Features and classes or targets of a tensor of samples on its device, shapes (samples, ...)."""
        if self.y_N is not None:
            return self.x_ND.index_select(0, chosen), self.y_N.index_select(0, chosen)
        assert self.num_classes is not None
        return self.x_ND.index_select(0, chosen // self.num_classes), chosen % self.num_classes

    def check(self, update: "PendingUpdate") -> None:
        """Refuse samples that the set does not have."""
        least, most = update.samples.min(), update.samples.max()
        if least < 0 or most >= self.num_sample_numbers:
            what = f"{self.num_sample_numbers}"
            if self.y_N is None:
                what += f" numbers row * {self.num_classes} + label"
            raise ConfigurationError(
                f"samples of client {update.client!r} run from {least} to {most}, but the training set "
                f"has {what}. Give indices of the training set."
            )
