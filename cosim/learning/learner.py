"""The learner: pending models are computed here, when first read, and no earlier.

Reading a model resolves exactly its ancestors, level by level: all client updates of one level, over all cells,
together; grouped into cohorts that share shapes, steps, batch and rate; each cohort one batched torch program on one
torch thread; added to the sums in the order of client names, so that a client's weights live only while its cohort
does. An update that nobody reads is never computed. Event times do not depend on weights, so this is exact.

Usage::

    learner = Learner(network, dataset)
    cloud_model = learner.initial_model(key=1)
    updates = [
        PendingUpdate(
            client=name, start=cloud_model, samples=indices, num_steps=20, batch_size=50, learning_rate=0.1, key=7
        )
        for name, indices in samples.items()
    ]
    cloud_model = mean(updates)  # or mean(updates, weights=num_samples); nothing is computed yet
    score = learner.evaluate(cloud_model)  # now: Score(accuracy, loss_nats)
    arrays = learner.weights(cloud_model)  # name -> float32 array, for a checkpoint
    again = learner.stored_model(arrays)

    # HIST: one disjoint part per cell
    num_units = learner.shape.num_units
    parts = draw_parts(num_units, even_counts(num_units, num_cells=4), rng)
    cell_models = [submodel(cloud_model, part) for part in parts]
    ...
    cloud_model = assemble(parts, cell_models)
    upload_bits = 32 * learner.shape.num_parameters(parts[0])

Scope and limitations: float32 weights, float64 sums; classification by cross entropy; plain SGD; forward passes
without randomness and without buffers. The same graph gives the same bits with any number of workers; updates that
are grouped otherwise agree to float32 tolerance. Diverged training shows as a loss that is not a number.
"""

import threading
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from cosim.configuration import ConfigurationError
from cosim.learning.local_training import mini_batches, own_copy, train_by_autograd, train_relu_cohort
from cosim.learning.pending import PendingModel, PendingUpdate, StoredModel
from cosim.learning.submodels import NetworkShape
from cosim.learning.weights import WeightedSum, Weights, initial_weights
from cosim.learning.workers import Workers, num_cores

COHORT_BYTES = {"cpu": 8 * 2**20, "cuda": 2**30}
EVALUATION_SAMPLES = 1000


class Data(Protocol):
    """What the learner reads of a data set.

    Attributes:
        train_x: float32, shape (samples, features).
        train_y: int64 class indices, shape (samples,).
        test_x: As train_x.
        test_y: As train_y.
        num_classes: Classes.
    """

    @property
    def train_x(self) -> NDArray[np.float32]: ...
    @property
    def train_y(self) -> NDArray[np.int64]: ...
    @property
    def test_x(self) -> NDArray[np.float32]: ...
    @property
    def test_y(self) -> NDArray[np.int64]: ...
    @property
    def num_classes(self) -> int: ...


class Score(NamedTuple):
    """A model on the test set.

    Attributes:
        accuracy: Share of samples classified rightly, 0 to 1.
        loss_nats: Mean cross entropy.
    """

    accuracy: float
    loss_nats: float


class InitialModel(PendingModel):
    """The network as its own initialisation draws it from a key."""

    __slots__ = ("key", "network")

    def __init__(self, network: nn.Module, key: int) -> None:
        super().__init__()
        self.network, self.key = network, key

    def combine(self, shape: Any, models: Any, update_sum: Any) -> Weights:
        return initial_weights(self.network, self.key)


class Learner:
    """Computes pending models on one device.

    Args:
        network: Any module; where it declares `unit_groups` it can be split, where `relu_layers` it trains faster.
        dataset: Training and test set.
        device: "cpu" or "cuda".
        num_workers: Threads; None: one per core that the process may use, one on CUDA.

    Attributes:
        shape: Parameter names and shapes, groups of units.
        num_local_steps: SGD steps computed so far, over all clients.
    """

    def __init__(
        self, network: nn.Module, dataset: Data, device: str = "cpu", num_workers: int | None = None
    ) -> None:
        if device not in COHORT_BYTES:
            raise ConfigurationError(f"Learner.device = {device!r}: must be one of {list(COHORT_BYTES)}.")
        if device == "cuda" and not torch.cuda.is_available():
            raise ConfigurationError(
                'Learner.device = "cuda": this torch sees no CUDA device. Usual fix: device="cpu".'
            )
        if next(network.buffers(), None) is not None:
            raise ConfigurationError("the network has buffers (running statistics). Usual fix: GroupNorm.")
        self.shape = NetworkShape.of(network)
        self.num_local_steps = 0
        self._network = network
        self._device = device
        self._train_x, self._train_y = self._tensors(dataset.train_x, dataset.train_y)
        self._test_x, self._test_y = self._tensors(dataset.test_x, dataset.test_y)
        self._workers = Workers(num_workers or (num_cores() if device == "cpu" else 1))
        self._networks = threading.local()

    def initial_model(self, key: int) -> PendingModel:
        """The network as its own initialisation draws it from a key, 0 to 2**64 - 1."""
        return InitialModel(self._network, key)

    def stored_model(self, weights: Mapping[str, NDArray[np.float32]]) -> PendingModel:
        """A model from weights that `weights` gave, as a checkpoint keeps them.

        Raises:
            ConfigurationError: names or shapes are not those of the whole network.
        """
        given = {name: tuple(values.shape) for name, values in weights.items()}
        if given != self.shape.parameters:
            raise ConfigurationError(
                f"weights of shapes {given}, but the network has {self.shape.parameters}."
            )
        return StoredModel(
            {
                name: torch.tensor(weights[name], dtype=torch.float32, device=self._device)
                for name in self.shape.parameters
            }
        )

    def weights(self, model: PendingModel) -> dict[str, NDArray[np.float32]]:
        """Parameter name -> values, computing what is not computed yet."""
        return {name: values.cpu().numpy().copy() for name, values in self._resolved(model).items()}

    def evaluate(self, model: PendingModel) -> Score:
        """Accuracy and loss on the test set, computing what is not computed yet."""
        weights = self._resolved(model)
        starts = range(0, len(self._test_y), EVALUATION_SAMPLES)
        right, loss = 0, 0.0
        for chunk_right, chunk_loss in self._workers.in_order(
            partial(self._score, weights, start) for start in starts
        ):
            right, loss = right + chunk_right, loss + chunk_loss
        return Score(right / len(self._test_y), loss / len(self._test_y))

    def _score(self, weights: Weights, start: int) -> tuple[int, float]:
        chunk = slice(start, start + EVALUATION_SAMPLES)
        scores_BK = functional_call(self._own_network(), weights, (self._test_x[chunk],))
        loss = nn.functional.cross_entropy(scores_BK, self._test_y[chunk], reduction="sum")
        return int((scores_BK.argmax(1) == self._test_y[chunk]).sum()), float(loss)

    def _own_network(self) -> nn.Module:
        if not hasattr(self._networks, "own"):
            self._networks.own = own_copy(self._network).to(self._device)
        return self._networks.own

    def _tensors(self, x: NDArray[np.float32], y: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        return (
            torch.tensor(x, dtype=torch.float32, device=self._device),
            torch.tensor(y, dtype=torch.int64, device=self._device),
        )

    def _resolved(self, model: PendingModel) -> Weights:
        for level in _levels(model):
            sums = self._train([node for node in level if node.updates])
            for node in level:
                total = sums[node].total if node in sums else None
                models = [_settled(parent) for parent in node.parents]
                weights = node.combine(self.shape, models, total)
                node.settle({k: v.to(self._device, torch.float32) for k, v in weights.items()})
        return _settled(model)

    def _train(self, nodes: list[PendingModel]) -> dict[PendingModel, WeightedSum]:
        sums = {node: WeightedSum() for node in nodes}
        wanted: dict[PendingUpdate, list[tuple[PendingModel, float]]] = {}
        for node in nodes:
            for update, coefficient in zip(node.updates, node.coefficients, strict=True):
                wanted.setdefault(update, []).append((node, coefficient))
        cohorts = list(_cohorts(list(wanted), COHORT_BYTES[self._device]))
        for partial_sums in self._workers.in_order(
            partial(self._train_cohort, cohort, wanted) for cohort in cohorts
        ):
            for node, partial_sum in partial_sums.items():
                sums[node].add(1.0, partial_sum.total)
        return sums

    def _train_cohort(
        self, cohort: list[PendingUpdate], wanted: dict[PendingUpdate, list[tuple[PendingModel, float]]]
    ) -> dict[PendingModel, WeightedSum]:
        starts = [_settled(update.start) for update in cohort]
        weights_C = {name: torch.stack([start[name] for start in starts]) for name in starts[0]}
        first = cohort[0]
        batches = [mini_batches(u.samples, u.num_steps, u.batch_size, u.key) for u in cohort]
        batches_CSB = torch.from_numpy(np.stack(batches)).to(self._device)
        relu_layers = getattr(self._network, "relu_layers", None)
        if relu_layers is not None:
            layers_COI = [weights_C[name] for name in relu_layers]
            train_relu_cohort(layers_COI, self._train_x, self._train_y, batches_CSB, first.learning_rate)
        else:
            network = self._own_network()
            train_by_autograd(
                network, weights_C, self._train_x, self._train_y, batches_CSB, first.learning_rate
            )
        self.num_local_steps += len(cohort) * first.num_steps
        sums: dict[PendingModel, WeightedSum] = {}
        for position, update in enumerate(cohort):
            updated = {name: values[position] for name, values in weights_C.items()}
            for node, coefficient in wanted[update]:
                sums.setdefault(node, WeightedSum()).add(coefficient, updated)
        return sums


def _settled(model: PendingModel) -> Weights:
    assert model.weights is not None
    return model.weights


def _dependencies(node: PendingModel) -> Iterator[PendingModel]:
    yield from node.parents
    for update in node.updates:
        yield update.start


def _levels(model: PendingModel) -> Iterator[list[PendingModel]]:
    """Unresolved ancestors by the number of trainings on the longest way to them, dependencies first."""
    depth: dict[PendingModel, int] = {}
    levels: list[list[PendingModel]] = []
    stack = [model]
    while stack:
        node = stack[-1]
        if node in depth or node.weights is not None:
            stack.pop()
            continue
        open_nodes = [d for d in _dependencies(node) if d.weights is None and d not in depth]
        if open_nodes:
            stack.extend(open_nodes)
            continue
        stack.pop()
        below = max((depth[d] for d in _dependencies(node) if d.weights is None), default=0)
        depth[node] = below + bool(node.updates)
        levels.extend([] for _ in range(depth[node] + 1 - len(levels)))
        levels[depth[node]].append(node)
    depth.clear()
    levels.reverse()
    while levels:
        yield levels.pop()


def _cohorts(updates: list[PendingUpdate], cohort_bytes: int) -> Iterator[list[PendingUpdate]]:
    groups: dict[Any, list[PendingUpdate]] = {}
    for update in sorted(updates, key=lambda u: (u.client, u.key)):
        shapes = tuple(v.shape for v in _settled(update.start).values())
        program = (shapes, update.num_steps, update.batch_size, update.learning_rate)
        groups.setdefault(program, []).append(update)
    for (shapes, *_), group in groups.items():
        size = max(1, cohort_bytes // (4 * sum(s.numel() for s in shapes)))
        for first in range(0, len(group), size):
            yield group[first : first + size]
