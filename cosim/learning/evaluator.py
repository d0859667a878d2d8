"""Evaluator: what a task and its metrics report of weights, over the test set or over some training samples.

Samples are taken slice by slice, side by side, and sums over slices are exact, so what comes out does not
depend on the number of threads.

Validation: tests/learning/test_task.py, tests/learning/test_metrics.py.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.learning.network.weights import Weights
from cosim.learning.own_networks import OwnNetworks
from cosim.learning.probe.task import numbers
from cosim.learning.tasks.metric import Answers
from cosim.learning.tasks.task import Task
from cosim.learning.training_set import TrainingSet
from cosim.learning.workers import Workers

T = TypeVar("T")

EVALUATION_SAMPLES, EVALUATION_DOCUMENTS = 1000, 100
"""Test samples per slice, those of token numbers apart; constants, as the loss is summed slice by slice."""


class Evaluator:
    """Reads weights on one device.

    Args:
        networks: Whose values do not matter.
        dataset: Of the test samples.
        training_set: Of the same data set.
        task: Says what is reported.
        workers: The threads.
        device: "cpu" or "cuda".
    """

    def __init__(
        self,
        networks: OwnNetworks,
        dataset: Dataset,
        training_set: TrainingSet,
        task: Task,
        workers: Workers,
        device: str,
    ) -> None:
        self._networks, self._dataset, self._training_set = networks, dataset, training_set
        self._task, self._workers = task, workers
        self._test_x = torch.tensor(dataset.test_x, device=device)
        self._test_y = torch.tensor(dataset.test_y, device=device)

    def scores(self, weights: Weights) -> Mapping[str, float]:
        """Column -> what is reported of a network's weights."""
        training = None
        if self._task.reads_training_set:
            x_ND, y_N = self._training_set.x_ND, self._training_set.y_N
            assert y_N is not None
            own_ND = x_ND.clone()  # parts of it go to the network, which may change them
            training = self._sums(weights, own_ND, y_N)
        scores = self._task.scores(self._sums(weights, self._test_x, self._test_y), training)
        if not self._task.metrics:
            return scores
        outputs = np.concatenate(list(self._on_test_set(weights, _outputs)))
        answers = Answers(outputs, self._dataset.test_y, self._dataset.test_owners)
        return {**scores, **self._task.metric_scores(answers)}

    def losses(self, weights: Weights, samples: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Mean loss on each of several groups of training samples, shape (groups,)."""

        def of_group(indices: NDArray[np.int64]) -> float:
            x_BD, y_B = self._training_set.labelled(indices)
            return float(self._training_set.loss(self._outputs(weights, x_BD), y_B))

        return np.array(list(self._workers.in_order(partial(of_group, indices) for indices in samples)))

    def label_ranks(self, weights: Weights) -> NDArray[np.int64]:
        """How many classes come before the true one, of each test sample, shape (test samples,).

        Raises:
            ConfigurationError: A quantity is predicted.
        """
        if self._dataset.num_classes is None:
            raise ConfigurationError("label_ranks: the data set has no classes. Usual fix: evaluate.")
        return np.concatenate(list(self._on_test_set(weights, _label_ranks)))

    def _outputs(self, weights: Weights, x_BD: Tensor) -> Tensor:
        return functional_call(self._networks.of_this_thread().eval(), weights, (x_BD,))

    def _sums(self, weights: Weights, x_ND: Tensor, y_N: Tensor) -> dict[str, float]:
        """The task's sums over samples."""
        slices = list(self._on_samples(weights, partial(numbers, self._task), x_ND, y_N))
        sums = {name: math.fsum(of_slice[name] for of_slice in slices) for name in slices[0]}
        return sums | {"num_samples": len(y_N)}

    def _on_test_set(self, weights: Weights, of_batch: Callable[[Tensor, Tensor], T]) -> Iterator[T]:
        return self._on_samples(weights, of_batch, self._test_x, self._test_y)

    def _on_samples(
        self, weights: Weights, of_batch: Callable[[Tensor, Tensor], T], x_ND: Tensor, y_N: Tensor
    ) -> Iterator[T]:
        """What `of_batch` makes of outputs and truth, slice by slice."""

        def of_slice(x_BD: Tensor, y_B: Tensor) -> T:
            return of_batch(self._outputs(weights, x_BD), y_B)

        num_samples = EVALUATION_SAMPLES if x_ND.is_floating_point() else EVALUATION_DOCUMENTS
        batches = zip(x_ND.split(num_samples), y_N.split(num_samples), strict=True)
        return self._workers.in_order(partial(of_slice, x_BD, y_B) for x_BD, y_B in batches)


def _outputs(outputs_BK: Tensor, y_B: Tensor) -> NDArray[np.float32]:
    return outputs_BK.cpu().numpy()


def _label_ranks(outputs_BK: Tensor, y_B: Tensor) -> NDArray[np.int64]:
    """How many classes come before the true one."""
    outputs_BK = outputs_BK.nan_to_num(nan=math.inf, posinf=math.inf, neginf=-math.inf)
    true_B1 = outputs_BK.gather(1, y_B[:, None])
    lower_class_BK = torch.arange(outputs_BK.shape[1], device=y_B.device) < y_B[:, None]
    before_BK = (outputs_BK > true_B1) | ((outputs_BK == true_B1) & lower_class_BK)
    return before_BK.sum(1).cpu().numpy()
