"""Cohorts: client updates that one batched program trains together, and the program.

| updates | on | share, beside shapes | program |
|---|---|---|---|
| any | feature rows without labels of their own | batch size, rate, about the rows | `recurring_rows` |
| vertical | samples | epochs, samples, batch size, both rates | `vertical` |
| others | samples | steps, batch size, rate | `local_training` |

The size of a cohort follows from a fixed working set, not from a measurement, so results do not depend on the
machine's load nor on its number of cores.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.learning.dropout import dropping_layers, keyed_dropout
from cosim.learning.local_training import (
    mini_batches,
    relu_layers_of,
    train_alone,
    train_by_autograd,
    train_relu_layers,
)
from cosim.learning.pending import PendingUpdate
from cosim.learning.recurring_rows import program_on_rows, train_on_rows
from cosim.learning.scores import cross_entropy, squared_error
from cosim.learning.vertical import VerticalUpdate, train_vertically
from cosim.learning.weights import Weights

FLOAT32_BYTES = 4


CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class WorkingSet(NamedTuple):
    """How large a cohort may be.

    Attributes:
        num_bytes: Weights and one mini-batch of all members.
        num_clients: Members.
        num_cohorts: Least number of cohorts, so that workers share a small level.
    """

    num_bytes: int
    num_clients: int
    num_cohorts: int


WORKING_SETS = {
    "cpu": WorkingSet(num_bytes=4 * 2**20, num_clients=16, num_cohorts=2),
    "cuda": WorkingSet(num_bytes=2**30, num_clients=1024, num_cohorts=1),
}
"""Device to working set. CPU: the fastest in `benchmarks/learner.py` with 1 MiB of L2 cache per core, 3
clients of 784-300-10 and 10 of its quarter; a larger one leaves the cache, a smaller one makes more calls.
CUDA: no source."""


def working_set(network: nn.Module, device: str) -> WorkingSet:
    """How large the cohorts of a network may be.

    On a CPU dense layers gain from being trained together. Convolutions with weights of their own for every
    client are slower together, and where layers are frozen most of the work is one client's batch times
    common weights; such networks are trained client by client (benchmarks/submodels.py). So are those with
    dropout, on every device, because masks are of one client.
    """
    largest = WORKING_SETS[device]
    if dropping_layers(network):
        return largest._replace(num_clients=1)
    convolves = any(isinstance(layer, CONVOLUTIONS) for layer in network.modules())
    freezes = any(not p.requires_grad for p in network.parameters())
    return largest._replace(num_clients=1) if device == "cpu" and (convolves or freezes) else largest


def cohorts(
    updates: Iterable[PendingUpdate],
    num_features: int,
    working_set: WorkingSet,
    program: Callable[[PendingUpdate], Hashable] = attrgetter("program"),
    order: Callable[[PendingUpdate], Any] = attrgetter("client", "key"),
) -> Iterator[list[PendingUpdate]]:
    """Updates in cohorts, in order within each program.

    Args:
        updates: Updates whose start is settled.
        num_features: Features of a sample.
        working_set: How large a cohort may be.
        program: What updates must share, beside their shapes.
        order: What they are sorted by: by name of the client.
    """
    programs: dict[Any, list[PendingUpdate]] = {}
    for update in sorted(updates, key=order):
        shapes = tuple(tuple(values.shape) for values in update.start.settled.values())
        programs.setdefault((shapes, program(update)), []).append(update)
    for (shapes, _), members in programs.items():
        num_floats = sum(map(math.prod, shapes)) + members[0].batch_size * num_features
        most = min(working_set.num_clients, working_set.num_bytes // (FLOAT32_BYTES * num_floats))
        num_cohorts = max(math.ceil(len(members) / max(1, most)), working_set.num_cohorts)
        for i in range(num_cohorts):
            cohort = members[i * len(members) // num_cohorts : (i + 1) * len(members) // num_cohorts]
            if cohort:
                yield cohort


class TrainingSet:
    """The training samples on one device, and which program trains on them.

    Args:
        dataset: Where they come from.
        device: Where they go.

    Attributes:
        x_ND: Features of the samples; of the rows, where y_N is None.
        y_N: Classes or targets; None: samples are numbers row * num_classes + label.
        loss: Mean loss of a batch, from outputs and targets.
    """

    def __init__(self, dataset: Dataset, device: str) -> None:
        self.x_ND = torch.tensor(dataset.train_x, device=device)
        self.y_N = None if dataset.train_y is None else torch.tensor(dataset.train_y, device=device)
        self._num_classes, self._num_sample_numbers = dataset.num_classes, dataset.num_sample_numbers
        self.loss = squared_error if dataset.num_classes is None else cross_entropy

    def labelled(self, samples: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Features and classes or targets of samples, shapes (samples, features) and (samples,)."""
        chosen = torch.tensor(samples, device=self.x_ND.device)
        if self.y_N is not None:
            return self.x_ND[chosen], self.y_N[chosen]
        assert self._num_classes is not None
        return self.x_ND[chosen // self._num_classes], chosen % self._num_classes

    def program(self, update: PendingUpdate) -> Hashable:
        """What updates must share to be trained together, beside their shapes."""
        if self.y_N is not None or self._num_classes is None:
            return update.program
        return program_on_rows(update, self._num_classes)

    def train(self, network: nn.Module, weights_C: Weights, cohort: Sequence[PendingUpdate]) -> None:
        """Train a cohort, in place on its clients' weights.

        Args:
            network: No other thread may use the same module meanwhile.
            weights_C: Parameter name -> the clients' values, shape (clients, ...).
            cohort: Updates of one program.

        Raises:
            ConfigurationError: samples that the set does not have; vertical training without train_y.
        """
        for update in cohort:
            self._check(update)
        vertical = [update for update in cohort if isinstance(update, VerticalUpdate)]
        if self.y_N is None:
            assert self._num_classes is not None
            train_on_rows(network, weights_C, self.x_ND, self._num_classes, cohort)
        elif vertical:
            train_vertically(network, weights_C, self.x_ND, self.y_N, vertical, self.loss)
        else:
            batches = [mini_batches(u.samples, u.num_steps, u.batch_size, u.key) for u in cohort]
            batches_CSB = torch.from_numpy(np.stack(batches)).to(self.x_ND.device)
            data = (self.x_ND, self.y_N, batches_CSB, cohort[0].learning_rate)
            relu_layers = getattr(network, "relu_layers", None)
            if len(cohort) == 1 and relu_layers is None:
                weights = {name: values_C[0] for name, values_C in weights_C.items()}
                x_ND, y_N, batches_CSB, learning_rate = data
                with keyed_dropout(network, cohort[0].key):
                    train_alone(network, weights, x_ND, y_N, batches_CSB[0], learning_rate, self.loss)
            elif relu_layers is None or self._num_classes is None:
                train_by_autograd(network, weights_C, *data, self.loss)
            else:
                train_relu_layers(relu_layers_of(relu_layers, weights_C), *data)

    def _check(self, update: PendingUpdate) -> None:
        least, most = update.samples.min(), update.samples.max()
        if least < 0 or most >= self._num_sample_numbers:
            what = f"{self._num_sample_numbers}"
            if self.y_N is None:
                what += f" numbers row * {self._num_classes} + label"
            raise ConfigurationError(
                f"samples of client {update.client!r} run from {least} to {most}; the training set has "
                f"{what}."
            )
        if self.y_N is None and isinstance(update, VerticalUpdate):
            raise ConfigurationError(
                f"client {update.client!r} trains vertically on a data set without train_y, but central "
                "gradients belong to single samples. Usual fix: give train_y."
            )
