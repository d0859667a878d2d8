"""The learner: pending models are computed here, when first read, and no earlier.

Reading a model resolves exactly its ancestors, level by level: all client updates of one level, over all
cells, together; grouped into cohorts that share shapes, steps, batch and rate; each cohort one batched torch
program on one torch thread; added to the sums in the order of client names, so that a client's weights live
only while its cohort does. An update that nobody reads is never computed. Event times do not depend on
weights, so this is exact.

Usage::

    learner = Learner(network, dataset)
    model = learner.initial_model(key=1)
    work = dict(num_steps=20, batch_size=50, learning_rate=0.1)
    updates = [
        PendingUpdate(client=name, start=model, samples=indices, key=key, **work)
        for key, (name, indices) in enumerate(samples_of_clients.items())
    ]
    model = mean(updates)  # or mean(updates, weights=num_samples); nothing is computed yet
    score = learner.evaluate(model)  # now: Score(accuracy, loss_nats)
    arrays = learner.weights(model)  # name -> float32 array, for a checkpoint
    model = learner.stored_model(arrays)

    # HIST: one disjoint part per cell
    num_units = learner.shape.num_units
    parts = draw_parts(num_units, even_counts(num_units, num_cells=4), rng)
    cells = [submodel(model, part) for part in parts]
    ...  # each cell trains its own: cells[j] = mean(updates that start from cells[j])
    model = assemble(parts, cells)
    upload_bits = 32 * learner.shape.num_parameters(parts[0])

Scope and limitations: float32 weights, float64 sums; classification by cross entropy or one quantity by
squared error (`scores`); plain SGD; forward passes without randomness and without buffers. The same graph
read the same way gives the same bits with any number of workers; read otherwise (updates fall into other
cohorts) it agrees to float32 tolerance. Diverged training shows as a loss that is not a number. Not for
several calling threads at once.

Validation: tests/learning against a sequential loop of torch.optim.SGD; speed in benchmarks/learner.py.
"""

import copy
import math
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from cosim.configuration import ConfigurationError
from cosim.learning.cohorts import WORKING_SETS, cohorts
from cosim.learning.datasets import Dataset
from cosim.learning.levels import levels
from cosim.learning.local_training import mini_batches, train_by_autograd, train_relu_layers
from cosim.learning.pending import InitialModel, PendingModel, PendingUpdate, StoredModel
from cosim.learning.scores import (
    ErrorScore,
    Score,
    class_totals,
    cross_entropy,
    error_totals,
    squared_error,
)
from cosim.learning.submodels import NetworkShape
from cosim.learning.vertical import VerticalUpdate, train_vertically
from cosim.learning.weights import WeightedSum, Weights
from cosim.learning.workers import Workers, num_cores, one_torch_thread

EVALUATION_SAMPLES = 1000
"""Test samples per task; a constant, because the loss is summed task by task."""


class Learner:
    """Computes pending models on one device.

    Args:
        network: Any module. Where it declares `unit_groups` it can be split, where `relu_layers` it trains
            faster.
        dataset: Training and test set.
        device: "cpu" or "cuda".
        num_workers: Threads; None: one per core that the process may use, one on CUDA.

    Attributes:
        shape: Parameter names and shapes, groups of units.
        num_global_features: Features of a sample that only the server sees.
        num_local_steps: SGD steps computed so far, over all clients.
        workers: The threads.

    Raises:
        ConfigurationError: a device that is not there; a network with buffers, with other outputs than the
            data set has classes, or whose `relu_layers` are not all it has.
    """

    def __init__(
        self, network: nn.Module, dataset: Dataset, device: str = "cpu", num_workers: int | None = None
    ) -> None:
        if device not in WORKING_SETS:
            raise ConfigurationError(
                f"Learner.device = {device!r}: must be one of {', '.join(WORKING_SETS)}."
            )
        if device == "cuda" and not torch.cuda.is_available():
            raise ConfigurationError('Learner.device = "cuda": no CUDA device here. Usual fix: device="cpu".')
        if num_workers is None:
            num_workers = num_cores() if device == "cpu" else 1
        if num_workers < 1:
            raise ConfigurationError(f"Learner.num_workers = {num_workers}: must be at least 1.")
        self.shape = NetworkShape.of(network)
        self.num_local_steps = 0
        self.num_global_features = dataset.num_global_features
        self._device = device
        self._network = copy.deepcopy(network)
        self._train_x, self._train_y = self._tensors(
            dataset.train_x, dataset.train_y if dataset.train_y is not None else np.zeros(1)
        )
        self._test_x, self._test_y = self._tensors(dataset.test_x, dataset.test_y)
        self._classifies = dataset.num_classes is not None
        self._loss = cross_entropy if self._classifies else squared_error
        self._check_network(dataset)
        self.workers = Workers(num_workers)
        self._networks = threading.local()

    def initial_model(self, key: int) -> PendingModel:
        """The network as its own initialisation draws it from a key, 0 to 2**64 - 1."""
        return InitialModel(self._network, key)

    def stored_model(self, weights: Mapping[str, NDArray[np.float32]]) -> PendingModel:
        """A model from arrays that `weights` gave, as a checkpoint keeps them.

        Raises:
            ConfigurationError: names or shapes are not those of the whole network.
        """
        given = {name: np.shape(values) for name, values in weights.items()}
        if given != self.shape.parameters:
            raise ConfigurationError(f"stored weights are {given}, the network has {self.shape.parameters}.")
        names = self.shape.parameters
        return StoredModel(
            {n: torch.tensor(weights[n], dtype=torch.float32, device=self._device) for n in names}
        )

    def weights(self, model: PendingModel) -> dict[str, NDArray[np.float32]]:
        """Parameter name -> a copy of its values, computing what is not computed yet."""
        with one_torch_thread():
            self._resolve(model)
        return {name: values.cpu().numpy().copy() for name, values in model.settled.items()}

    def evaluate(self, model: PendingModel) -> Score | ErrorScore:
        """The model on the test set (a predictor on the training set too); computes what is not yet."""
        with one_torch_thread():
            self._resolve(model)
        num_samples = len(self._test_y)
        if self._classifies:
            num_right, loss_nats = self._totals(model, self._test_x, self._test_y)
            return Score(num_right / num_samples, loss_nats / num_samples)
        train_squares, _, _ = self._totals(model, self._train_x, self._train_y)
        squares, errors, targets = self._totals(model, self._test_x, self._test_y)
        return ErrorScore(train_squares / len(self._train_y), squares / num_samples, errors / targets)

    def _totals(self, model: PendingModel, x_ND: Tensor, y_N: Tensor) -> list[float]:
        """Sums over samples, task by task."""
        of_batch = class_totals if self._classifies else error_totals

        def totals(x_BD: Tensor, y_B: Tensor) -> tuple[float, ...]:
            return of_batch(functional_call(self._own_network(), model.settled, (x_BD,)), y_B)

        batches = zip(x_ND.split(EVALUATION_SAMPLES), y_N.split(EVALUATION_SAMPLES), strict=True)
        per_task = list(self.workers.in_order(partial(totals, x_BD, y_B) for x_BD, y_B in batches))
        return [math.fsum(column) for column in zip(*per_task, strict=True)]

    def _resolve(self, model: PendingModel) -> None:
        for level in levels(model):
            sums = self._update_sums([node for node in level if node.updates])
            for node in level:
                models = [parent.settled for parent in node.parents]
                weights = node.combine(self.shape, models, sums[node].total if node in sums else None)
                node.settle({k: v.to(self._device, torch.float32) for k, v in weights.items()})

    def _update_sums(self, nodes: Sequence[PendingModel]) -> dict[PendingModel, WeightedSum]:
        """The weighted sums of updates that models of one level need."""
        sums = {node: WeightedSum() for node in nodes}
        uses: dict[PendingUpdate, list[tuple[PendingModel, float]]] = {}
        for node in nodes:
            for update, coefficient in zip(node.updates, node.coefficients, strict=True):
                uses.setdefault(update, []).append((node, coefficient))
        planned = list(cohorts(uses, self._train_x.shape[1], WORKING_SETS[self._device]))
        tasks = (partial(self._train, cohort, uses) for cohort in planned)
        for cohort, partial_sums in zip(planned, self.workers.in_order(tasks), strict=True):
            self.num_local_steps += sum(update.num_steps for update in cohort)
            for node, partial_sum in partial_sums.items():
                sums[node].add(1.0, partial_sum.total)
        return sums

    def _train(
        self,
        cohort: Sequence[PendingUpdate],
        uses: Mapping[PendingUpdate, Sequence[tuple[PendingModel, float]]],
    ) -> dict[PendingModel, WeightedSum]:
        """Train a cohort; what it adds to each model's sum."""
        starts = [update.start.settled for update in cohort]
        weights_C = {name: torch.stack([start[name] for start in starts]) for name in starts[0]}
        self._train_cohort(cohort, weights_C)
        sums: defaultdict[PendingModel, WeightedSum] = defaultdict(WeightedSum)
        for client, update in enumerate(cohort):
            updated = {name: values_C[client] for name, values_C in weights_C.items()}
            for node, coefficient in uses[update]:
                sums[node].add(coefficient, updated)
        return sums

    def _train_cohort(self, cohort: Sequence[PendingUpdate], weights_C: Weights) -> None:
        for update in cohort:
            self._check_samples(update)
        if isinstance(cohort[0], VerticalUpdate):
            vertical = [update for update in cohort if isinstance(update, VerticalUpdate)]
            data = (self._train_x, self._train_y, vertical, self._loss)
            train_vertically(self._own_network(), weights_C, *data)
            return
        batches_CSB = torch.from_numpy(
            np.stack([mini_batches(u.samples, u.num_steps, u.batch_size, u.key) for u in cohort])
        )
        data = (self._train_x, self._train_y, batches_CSB.to(self._device), cohort[0].learning_rate)
        relu_layers = getattr(self._network, "relu_layers", None)
        if relu_layers is None or not self._classifies:
            train_by_autograd(self._own_network(), weights_C, *data, self._loss)
        else:
            train_relu_layers([weights_C[name] for name in relu_layers], *data)

    def _check_samples(self, update: PendingUpdate) -> None:
        least, most = update.samples.min(), update.samples.max()
        if least < 0 or most >= len(self._train_y):
            raise ConfigurationError(
                f"samples of client {update.client!r} run from {least} to {most}; the training set has "
                f"{len(self._train_y)}."
            )

    def _own_network(self) -> nn.Module:
        """This thread's copy: functional_call swaps a module's parameters while it runs."""
        if not hasattr(self._networks, "own"):
            self._networks.own = copy.deepcopy(self._network).to(self._device)
        return self._networks.own

    def _tensors(self, x: NDArray[Any], y: NDArray[Any]) -> tuple[Tensor, Tensor]:
        return torch.tensor(x, device=self._device), torch.tensor(y, device=self._device)

    def _check_network(self, dataset: Dataset) -> None:
        if next(self._network.buffers(), None) is not None:
            raise ConfigurationError(
                "the network keeps buffers (running statistics), which clients would have to send. "
                "Usual fix: a normalisation without them, such as GroupNorm."
            )
        relu_layers = getattr(self._network, "relu_layers", None)
        if relu_layers is not None and tuple(relu_layers) != tuple(self.shape.parameters):
            raise ConfigurationError(
                f"relu_layers = {relu_layers} must name all of {tuple(self.shape.parameters)} in order. "
                "Usual fix: leave it out where a network is more than matrices with ReLU between."
            )
        taken = getattr(self._network, "num_global_features", 0)
        if self.shape.num_central_outputs and taken != dataset.num_global_features:
            seen, own = dataset.num_global_features, dataset.num_features - dataset.num_global_features
            raise ConfigurationError(
                f"the network's central part takes {taken} features; the server sees {seen} of each sample "
                f"in {dataset.name!r}, and a client {own}. Usual fix: "
                f"vertical-{seen}-{own}-<hidden>-<outputs>."
            )
        try:
            with torch.no_grad():
                found = tuple(copy.deepcopy(self._network).to(self._device)(self._test_x[:1]).shape)
        except RuntimeError as error:
            raise ConfigurationError(
                f"the network does not take samples of {self._test_x.shape[1]} features ({error}). "
                "Usual fix: a network with the data set's features as its first size."
            ) from None
        num_outputs = dataset.num_classes or 1
        if found != (1, num_outputs):
            raise ConfigurationError(
                f"the network gives outputs of shape {found} for one sample: must be (1, {num_outputs}), "
                "one per class. Usual fix: a network whose last size is the number of classes."
                if dataset.num_classes
                else f"the network gives outputs of shape {found} for one sample: must be (1, 1), the "
                "predicted quantity. Usual fix: a network with one output."
            )
