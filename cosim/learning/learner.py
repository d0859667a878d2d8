"""The learner: pending models are computed here, when first read, and no earlier.

Reading a model resolves exactly its ancestors, level by level (`levels`): all client updates of one level,
over all cells and all versions of an asynchronous model, together; grouped into cohorts that share a program
(`cohorts`), which their rule of local training gives (`local_training`); each cohort one batched torch
program on one torch thread; added to the sums in the order of clients' numbers, where models of one level are
made of each other in their order first. A model is settled, and its sum freed, as soon as all it is made of
is there.

An update that nobody reads is never computed, and none is trained twice. A client's weights live while its
cohort does, and further only where somebody else references the update: a model that is not read yet, or a
variable; then until that lets go of it. Event times do not depend on weights, so all this is exact.

Usage::

    learner = Learner(network, dataset)
    model = learner.initial_model(key=1)
    work = dict(num_steps=20, training=Sgd(batch_size=50, learning_rate=0.1))
    updates = [
        PendingUpdate(client=name, start=model, samples=indices, key=key, **work)
        for key, (name, indices) in enumerate(samples_of_clients.items())
    ]
    model = mean(updates)  # or mean(updates, weights=num_samples); nothing is computed yet
    scores = learner.evaluate(model)  # now: {"accuracy": ..., "loss_nats": ...}
    arrays = learner.weights(model)  # name -> float32 array, for a checkpoint
    model = learner.stored_model(arrays)

    # HIST: one disjoint part per cell
    num_units = learner.shape.num_units
    parts = draw_parts(num_units, even_counts(num_units, num_cells=4), rng)
    cells = [submodel(model, part) for part in parts]
    ...  # each cell trains its own: cells[j] = mean(updates that start from cells[j])
    model = assemble(parts, cells)
    upload_bits = 32 * learner.shape.num_parameters(parts[0])

    # RawHFL: accumulated gradients, inverse-probability corrected; samples row * num_classes + label
    model = accumulate(model, updates, coefficients)
    share_in_top_5 = (learner.label_ranks(model) < 5).mean()

Running statistics of normalisation layers belong to a model: they move while a client trains, are averaged
and cut with its weights, and are what it is evaluated with. The mean of clients' variances leaves out the
variance between their means; where a sum over the air or an accumulated gradient makes one negative, it
counts as 0.

Scope and limitations: float32 weights, float64 sums; losses that are means over a batch (`task`); forward
passes without randomness but for dropout layers, which draw from the update's key (`dropout`); running
statistics only where clients train on labelled samples. The same graph
read the same way gives the same bits with any number of workers; read otherwise (updates fall into other
cohorts) it agrees to float32 tolerance. Diverged training shows as a loss that is not a number. Not for
several calling threads at once.

Validation: tests/learning against a sequential loop of torch.optim.SGD; speed in benchmarks/learner.py.
"""

import math
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.learning.codecs.transmission import transmitted
from cosim.learning.graph.cohorts import WORKING_SETS, cohorts, working_set
from cosim.learning.graph.levels import Level, Need, levels
from cosim.learning.graph.pending import (
    InitialModel,
    PendingModel,
    PendingState,
    PendingUpdate,
    PendingValue,
    StoredModel,
)
from cosim.learning.network.check import check_network
from cosim.learning.network.dropout import dropping_layers
from cosim.learning.network.flops import TrainingFlops
from cosim.learning.network.submodels import NetworkShape
from cosim.learning.network.weights import WeightedSum, Weights, frozen_on, own_copy, own_weights
from cosim.learning.tasks.metric import Answers
from cosim.learning.tasks.task import Task, task_for
from cosim.learning.tasks.task_check import check_task, numbers
from cosim.learning.training_set import TrainingSet
from cosim.learning.workers import Workers, num_cores, one_torch_thread
from cosim.names import by_number
from cosim.records import Measure

T = TypeVar("T")


class _Trained(NamedTuple):
    """A trained cohort: steps, addends of models' sums, what somebody else still references, states left."""

    num_steps: int
    sums: dict[PendingValue, WeightedSum]
    wanted: list[tuple[PendingUpdate, Weights]]
    states: list[tuple[PendingState, Weights]]


VARIANCE = "running_var"
"""How the names of running variances end."""

EVALUATION_SAMPLES, EVALUATION_DOCUMENTS = 1000, 100
"""Test samples per task, those of token numbers apart; constants, because the loss is summed task by task."""


class Learner:
    """Computes pending models on one device.

    Args:
        network: Any module. Where it declares `unit_groups` it can be split, where `relu_layers` it trains
            faster.
        dataset: Training and test set.
        device: "cpu" or "cuda".
        num_workers: Threads; None: one per core that the process may use, one on CUDA.
        brings_weights: Learning starts from the network's own values, not from drawn ones.
        task: What is minimised and reported; None: what the targets of the data set suggest.

    Attributes:
        task: What is minimised and reported.
        shape: Parameter names and shapes, groups of units.
        flops: Operations of training.
        num_global_features: Features of a sample that only the server sees.
        dropout: Names of the layers that drop something in training.
        num_local_steps: SGD steps computed so far, over all clients.
        workers: The threads.

    Raises:
        ConfigurationError: a device that is not there; a task that the data set does not suit; a network with
            other outputs than the task asks for, with running statistics that nothing here moves, that draws
            where no key reaches, or whose `relu_layers` are not all it is.
    """

    def __init__(
        self,
        network: nn.Module,
        dataset: Dataset,
        device: str = "cpu",
        num_workers: int | None = None,
        brings_weights: bool = False,
        task: Task | None = None,
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
        self.dropout = dropping_layers(network)
        self.num_global_features = dataset.num_global_features
        self._device, self._brings_weights = device, brings_weights
        self._network = own_copy(network)
        self._frozen = frozen_on(self._network, device)
        self._dataset = dataset
        self._networks = threading.local()
        self._working_set = working_set(network, device)
        self._kept: WeakKeyDictionary[PendingUpdate, Weights] = WeakKeyDictionary()
        self.flops = TrainingFlops(self._network, self.shape, dataset)
        self.task = task_for(task, dataset)
        check_task(self.task, dataset)
        check_network(self._network, self.shape, dataset, self.task)
        self.workers = Workers(num_workers)

    @cached_property
    def _training_set(self) -> TrainingSet:
        return TrainingSet(self._dataset, self._device, self.task)

    @cached_property
    def _test_x(self) -> Tensor:
        return torch.tensor(self._dataset.test_x, device=self._device)

    @cached_property
    def _test_y(self) -> Tensor:
        return torch.tensor(self._dataset.test_y, device=self._device)

    def initial_model(self, key: int) -> PendingModel:
        """The network as its own initialisation draws it from a key, 0 to 2**64 - 1, or as it was brought."""
        if self._brings_weights:
            return StoredModel(own_weights(self._network, self._device))
        return InitialModel(self._network, key)

    def stored_model(self, weights: Mapping[str, NDArray[np.float32]]) -> PendingModel:
        """A model from arrays that `weights` gave, as a checkpoint keeps them.

        Raises:
            ConfigurationError: names or shapes are not those of the whole network.
        """
        given, names = {name: np.shape(values) for name, values in weights.items()}, self.shape.tensors
        if given != names:
            raise ConfigurationError(f"stored weights are {given}, the network has {names}.")
        return StoredModel(
            {n: torch.tensor(weights[n], dtype=torch.float32, device=self._device) for n in names}
        )

    def settle(self, value: PendingValue, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Give a model or a state, computed or not, the values that `weights` or `state` gave of it once."""
        value.settle({name: torch.tensor(array, device=self._device) for name, array in tensors.items()})

    def trained(self, updates: Mapping[str, PendingUpdate]) -> dict[str, Weights]:
        """The weights of those updates that are trained already and kept for who still needs them."""
        return {name: self._kept[update] for name, update in updates.items() if update in self._kept}

    def keep(self, update: PendingUpdate, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Take an update for trained, with weights that a checkpoint has kept; it needs nothing else."""
        for value in update.inputs:
            if value.tensors is None:
                value.settle({})
        self._kept[update] = {
            name: torch.tensor(array, device=self._device) for name, array in weights.items()
        }

    def compute(self, *values: PendingValue) -> None:
        """Compute models and states together."""
        with one_torch_thread():
            self._resolve(*values)

    def weights(self, model: PendingModel) -> dict[str, NDArray[np.float32]]:
        """Parameter name -> a copy of its values, computing what is not computed yet."""
        self.compute(model)
        return {name: array.copy() for name, array in self.arrays(self._network_tensors(model)).items()}

    def companions(self, model: PendingModel) -> dict[str, NDArray[np.float32]]:
        """Name -> a copy of the values that travel beside a model, likewise."""
        own = self.shape.tensors
        return {name: array for name, array in self._arrays(model).items() if name not in own}

    def _network_tensors(self, model: PendingModel) -> Weights:
        """What of a computed model, or of a part of one, is the network's."""
        return {name: model.settled[name] for name in self.shape.tensors}

    def state(self, state: PendingState) -> dict[str, NDArray[Any]]:
        """Name -> a copy of its values, computing what is not computed yet."""
        return self._arrays(state)

    def _arrays(self, value: PendingValue) -> dict[str, NDArray[Any]]:
        self.compute(value)
        return {name: array.copy() for name, array in self.arrays(value.settled).items()}

    @staticmethod
    def arrays(tensors: Weights) -> dict[str, NDArray[Any]]:
        """Name -> its values, not to be changed."""
        return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Column -> what `evaluate` reports in it, the headline first."""
        return self.task.columns(self._dataset)

    def evaluate(self, model: PendingModel) -> Mapping[str, float]:
        """What the task and its metrics report of a model, column by column; computes what is not yet."""
        training = None
        if self.task.reads_training_set:
            x_ND, y_N = self._training_set.x_ND, self._training_set.y_N
            assert y_N is not None
            own_ND = x_ND.clone()  # parts of it go to the network, which may change them
            training = self._sums(model, own_ND, y_N)
        scores = self.task.scores(self._sums(model, self._test_x, self._test_y), training)
        if not self.task.metrics:
            return scores
        outputs = np.concatenate(list(self._on_samples(model, _outputs, self._test_x, self._test_y)))
        answers = Answers(outputs, self._dataset.test_y, self._dataset.test_owners)
        return {**scores, **self.task.metric_scores(answers)}

    def losses(self, model: PendingModel, samples: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Mean loss of a model, or a part of one, on each of several groups of training samples.

        Args:
            model: Computed here, if it is not yet.
            samples: Of each group its training-set indices, or numbers row * num_classes + label.

        Returns:
            Losses of the task, shape (groups,).
        """
        self.compute(model)
        tensors = self._network_tensors(model)

        def of_group(indices: NDArray[np.int64]) -> float:
            x_BD, y_B = self._training_set.labelled(indices)
            with torch.no_grad():
                outputs_BK = functional_call(self._own_network().eval(), tensors, (x_BD,))
                return float(self._training_set.loss(outputs_BK, y_B))

        return np.array(list(self.workers.in_order(partial(of_group, indices) for indices in samples)))

    def network_of(self, model: PendingModel) -> nn.Module:
        """The network with the weights of a model, in evaluation mode; computes what is not yet."""
        self.compute(model)
        trained = own_copy(self._network)
        tensors = dict(trained.named_parameters()) | dict(trained.named_buffers())
        with torch.no_grad():
            for name, values in self._network_tensors(model).items():
                tensors[name].copy_(values)
        return trained.eval()

    def label_ranks(self, model: PendingModel) -> NDArray[np.int64]:
        """How many classes the model puts before the true one, of each test sample, shape (test samples,).

        0 is best; the mean of (ranks < M) is the Top-M accuracy. Of equal outputs the lower class comes
        first, and an output that is no number is the largest, as for `evaluate`.

        Raises:
            ConfigurationError: a quantity is predicted.
        """
        if self._dataset.num_classes is None:
            raise ConfigurationError("label_ranks: the data set has no classes. Usual fix: evaluate.")
        return np.concatenate(list(self._on_samples(model, _label_ranks, self._test_x, self._test_y)))

    def _sums(self, model: PendingModel, x_ND: Tensor, y_N: Tensor) -> dict[str, float]:
        """The task's sums over samples."""
        slices = list(self._on_samples(model, partial(numbers, self.task), x_ND, y_N))
        sums = {name: math.fsum(of_slice[name] for of_slice in slices) for name in slices[0]}
        return sums | {"num_samples": len(y_N)}

    def _on_samples(
        self, model: PendingModel, of_batch: Callable[[Tensor, Tensor], T], x_ND: Tensor, y_N: Tensor
    ) -> Iterator[T]:
        """What `of_batch` makes of outputs and truth, task by task; computes what is not yet."""
        self.compute(model)
        tensors = self._network_tensors(model)

        def of_task(x_BD: Tensor, y_B: Tensor) -> T:
            with torch.no_grad():
                return of_batch(functional_call(self._own_network().eval(), tensors, (x_BD,)), y_B)

        num_samples = EVALUATION_SAMPLES if x_ND.is_floating_point() else EVALUATION_DOCUMENTS
        batches = zip(x_ND.split(num_samples), y_N.split(num_samples), strict=True)
        return self.workers.in_order(partial(of_task, x_BD, y_B) for x_BD, y_B in batches)

    def _resolve(self, *values: PendingValue) -> None:
        for level in map(partial(Level, kept=self._kept), levels(*values)):
            self._settle_ready(level)
            for trained in self.workers.in_order(self._trainings(level)):
                self.num_local_steps += trained.num_steps
                while trained.states:
                    state, tensors = trained.states.pop()
                    state.settle(tensors)
                    level.left(state)
                self._keep(trained.wanted)
                level.add(trained.sums)
                self._settle_ready(level)

    def _settle_ready(self, level: Level) -> None:
        for node, update_sum in level.ready():
            if not isinstance(node, PendingModel):
                continue
            models = [parent.settled for parent in node.parents]
            weights = node.combine(self.shape, models, update_sum)
            weights = {name: v.to(self._device, torch.float32) for name, v in weights.items()}
            for name in self.shape.statistics:
                if name.endswith(VARIANCE):
                    weights[name] = weights[name].clamp(min=0.0)
            node.settle(weights)

    def _keep(self, wanted: list[tuple[PendingUpdate, Weights]]) -> None:
        while wanted:
            update, weights = wanted.pop()
            self._kept[update] = weights

    def _trainings(self, level: Level) -> Iterator[Callable[[], "_Trained"]]:
        """One task per cohort; what a chain of models needs first comes first."""

        def order(update: PendingUpdate) -> tuple[int, tuple[str, int], int]:
            return (level.needs[update].place, by_number(update.client), update.key)

        def shared(update: PendingUpdate) -> Hashable:
            return update.training.program().shared(update, data)

        data = self._training_set
        by_program = cohorts(level.needs, self._dataset.num_features, self._working_set, shared, order)
        planned = deque(sorted(by_program, key=lambda cohort: level.needs[cohort[0]].place))
        while planned:
            yield partial(self._train, [level.needs.pop(update) for update in planned.popleft()])

    def _train(self, cohort: Sequence[Need]) -> "_Trained":
        """Train those of a cohort that are not known yet."""
        untrained = [n.update for n in cohort if n.known is None or any(n.update.wanted_states)]
        weights_C: Weights = {}
        states: Sequence[Weights] = ()
        if untrained:
            companions = untrained[0].training.companions(self.shape).items()
            beside = {name: torch.zeros(size, device=self._device) for name, size in companions}
            starts = [beside | update.start.settled for update in untrained]
            weights_C = {name: torch.stack([start[name] for start in starts]) for name in starts[0]}
            for update in untrained:
                self._training_set.check(update)
            program = untrained[0].training.program()
            states = program.train(self._own_network().train(), weights_C, self._training_set, untrained)
        trained = _Trained(sum(update.num_steps for update in untrained), defaultdict(WeightedSum), [], [])
        place = {update: client for client, update in enumerate(untrained)}
        for update, client in place.items():
            left = (states[client] if states else {}, transmitted(update, weights_C, client))
            for wanted, tensors in zip(update.wanted_states, left, strict=True):
                if wanted is not None:
                    trained.states.append((wanted, tensors))
        for need in cohort:
            updated, client = need.known, place.get(need.update)
            if updated is None:
                assert client is not None
                updated = {name: values_C[client] for name, values_C in weights_C.items()}
                if (original := need.original()) is not None:
                    own = {name: values.clone() for name, values in updated.items()}
                    trained.wanted.append((original, own))
            for node, coefficient in need.uses:
                trained.sums[node].add(coefficient, updated)
        return trained

    def _own_network(self) -> nn.Module:
        """This thread's copy: functional_call swaps a module's parameters while it runs."""
        if not hasattr(self._networks, "own"):
            self._networks.own = own_copy(self._network, self._frozen).to(self._device)
            for layer in self._networks.own.modules():
                if getattr(layer, "num_batches_tracked", None) is not None:
                    layer.register_buffer("num_batches_tracked", None)  # torch.func cannot move a counter
        return self._networks.own


def _outputs(outputs_BK: Tensor, y_B: Tensor) -> NDArray[np.float32]:
    return outputs_BK.cpu().numpy()


def _label_ranks(outputs_BK: Tensor, y_B: Tensor) -> NDArray[np.int64]:
    """How many classes come before the true one."""
    outputs_BK = outputs_BK.nan_to_num(nan=math.inf, posinf=math.inf, neginf=-math.inf)
    true_B1 = outputs_BK.gather(1, y_B[:, None])
    lower_class_BK = torch.arange(outputs_BK.shape[1], device=y_B.device) < y_B[:, None]
    before_BK = (outputs_BK > true_B1) | ((outputs_BK == true_B1) & lower_class_BK)
    return before_BK.sum(1).cpu().numpy()
