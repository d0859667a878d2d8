"""Evaluator: what a task and its metrics report of weights, over the test set or over some training samples.

Samples are taken slice by slice, side by side, and sums over slices are exact, so what comes out does not
depend on the number of threads. A network and a task get copies of samples and targets, so they may change
them.

Validation: tests/tasks/test_task.py, tests/tasks/test_metrics.py.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import attrs
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call

from cosim.data.dataset import Dataset
from cosim.engine.learning.workers import Workers
from cosim.networks.own_networks import OwnNetworks
from cosim.networks.probe.task import numbers
from cosim.networks.probe.writes import written_parameters
from cosim.networks.slices import Slices
from cosim.tasks.answered import are_answers
from cosim.tasks.metric import Answers
from cosim.tasks.port import Task
from cosim.training.training_set import TrainingSet, shared
from cosim.values.weights import Weights, in_own_types

T = TypeVar("T")


@attrs.define(eq=False, slots=False)
class Evaluator:
    """Reads weights on one device, with networks whose own values do not matter."""

    _networks: OwnNetworks
    _dataset: Dataset
    _training_set: TrainingSet
    _task: Task
    _slices: Slices
    _workers: Workers
    _device: str

    def __attrs_post_init__(self) -> None:
        self._test_x = shared(self._dataset.test_x, self._device)
        self._test_y = torch.tensor(self._dataset.test_y, device=self._device)
        network = self._networks.of_this_thread().eval()
        with torch.no_grad(), written_parameters(network) as self._written:
            network(self._test_x[:1].clone())

    def scores(self, weights: Weights, own: Mapping[int, Weights] | None = None) -> Mapping[str, float]:
        """Column -> what is reported of a network's weights (`Learner.evaluate`)."""
        test, training = self._sums(weights, self._test_x, self._test_y), None
        if self._task.reads_training_set:
            x_ND, y_N = self._training_set.x_ND, self._training_set.y_N
            assert y_N is not None
            training = self._sums(weights, x_ND, y_N)
        if test is None or (training is None and self._task.reads_training_set):
            scores: Mapping[str, float] = dict.fromkeys(self._task.measures(), math.nan)
        else:
            scores = self._task.scores(test, training)
        if not self._task.metrics:
            return scores
        answers = self.answers(weights)
        personal = answers._replace(outputs=self._own_outputs(weights, own, answers)) if own else None
        return {**scores, **self._task.metric_scores(answers, self._dataset, personal)}

    def answers(self, weights: Weights) -> Answers:
        """Answers of a network's weights to the test set."""
        outputs = list(self._on_samples(weights, _outputs, self._test_x, self._test_y))
        return Answers(np.concatenate(outputs), self._dataset.test_y, self._dataset.test_owners)

    def losses(
        self, weights: Weights, samples: Sequence[NDArray[np.int64]], own: Sequence[Weights]
    ) -> NDArray[np.float64]:
        """Mean loss on each of several groups of training samples, shape (groups,) (`Learner.losses`)."""
        num_samples = self._slices.most_at_once

        def of_slice(indices: NDArray[np.int64], tensors: Weights) -> float:
            x_BD, y_B = self._training_set.labelled(indices)
            return float(self._training_set.loss(self._outputs(weights | tensors, x_BD), y_B))

        def of_group(indices: NDArray[np.int64], tensors: Weights) -> float:
            if len(indices) <= num_samples:
                return of_slice(indices, tensors)
            parts = np.split(indices, range(num_samples, len(indices), num_samples))
            return math.fsum(len(part) * of_slice(part, tensors) for part in parts) / len(indices)

        groups = zip(samples, own, strict=True)
        return np.array(list(self._workers.in_order(partial(of_group, *group) for group in groups)))

    def _own_outputs(
        self, weights: Weights, own: Mapping[int, Weights], answers: Answers
    ) -> NDArray[np.float32]:
        """Outputs for the test set; each client's own model gives the outputs for its share."""
        (outputs, _, owners), num_samples = answers, self._slices.num_samples
        found = outputs.copy()
        assert owners is not None
        in_order = np.argsort(owners, kind="stable")
        bounds = np.searchsorted(owners[in_order], [[number, number + 1] for number in own])
        pieces = [
            (number, in_order[at : min(at + num_samples, end)])
            for number, (begin, end) in zip(own, bounds.tolist(), strict=True)
            for at in range(begin, end, num_samples)
        ]

        def of_piece(number: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
            x_BD = self._test_x[torch.from_numpy(rows).to(self._test_x.device)]
            return _outputs(self._outputs(weights | own[number], x_BD), x_BD)

        each = self._workers.in_order(partial(of_piece, *piece) for piece in pieces)
        for (_, rows), outputs_BK in zip(pieces, each, strict=True):
            found[rows] = outputs_BK
        return found

    def _outputs(self, weights: Weights, x_BD: Tensor) -> Tensor:
        network = self._networks.of_this_thread().eval()
        copies = {name: weights[name].clone() for name in self._written if name in weights}
        return functional_call(network, in_own_types(network, weights | copies), (x_BD,))

    def _sums(self, weights: Weights, x_ND: Tensor, y_N: Tensor) -> dict[str, float] | None:
        """The task's sums over samples; None if an output is nan and the task needs answers."""
        found = list(self._on_samples(weights, self._numbers, x_ND, y_N))
        slices = [of_slice for of_slice in found if of_slice is not None]
        if len(slices) < len(found):
            return None
        sums = {name: math.fsum(of_slice[name] for of_slice in slices) for name in slices[0]}
        return sums | {"num_samples": len(y_N)}

    def _numbers(self, outputs_BK: Tensor, y_B: Tensor) -> dict[str, float] | None:
        if not (self._task.takes_no_answers or are_answers(outputs_BK).all()):
            return None
        return numbers(self._task, outputs_BK, y_B)

    def _on_samples(
        self, weights: Weights, of_batch: Callable[[Tensor, Tensor], T], x_ND: Tensor, y_N: Tensor
    ) -> Iterator[T]:
        """Results of `of_batch` for outputs and truth, slice by slice."""

        def of_slice(x_BD: Tensor, y_B: Tensor) -> T:
            return of_batch(self._outputs(weights, x_BD.clone()), y_B)

        num_samples = self._slices.num_samples
        batches = zip(x_ND.split(num_samples), y_N.split(num_samples), strict=True)
        return self._workers.in_order(partial(of_slice, x_BD, y_B) for x_BD, y_B in batches)


def _outputs(outputs_BK: Tensor, y_B: Tensor) -> NDArray[np.float32]:
    return outputs_BK.cpu().numpy()
