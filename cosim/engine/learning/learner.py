"""Learner: computes the learning that the clock's side asks for.

Models are computed when they are first read (`resolver`), and what the task reports of them is read off the
test set (`evaluator`).

Usage::

    learner = Learner(network, dataset)
    model = learner.initial_model(key=1)
    work = dict(num_steps=20, training=Sgd(batch_size=50, learning_rate=0.1))
    updates = [
        PendingUpdate(client=name, model=model, samples=indices, key=key, **work)
        for key, (name, indices) in enumerate(samples_of_clients.items())
    ]
    model = mean(updates)  # or mean(updates, weights=num_samples); nothing is computed yet
    scores = learner.evaluate(model)  # now: {"accuracy": ..., "loss_nats": ...}
    arrays = learner.weights(model)  # name -> float32 array, for a checkpoint
    model = learner.stored_model(arrays)

Running statistics of normalisation layers belong to a model, and so does other state that a network keeps in
buffers: they move while a client trains, are averaged and cut with its weights, and are what it is evaluated
with (`probe.buffers` finds them). The mean of clients' variances leaves out the variance between their means;
where the noise of a sum over the air makes one negative, it counts as 0.

Scope and limitations: float32 weights, float64 sums; losses that are means over a batch (`task`); forward
passes without randomness but for dropout layers, which draw from the update's key (`dropout`); running
statistics and state only where clients train on batches of samples. The same graph
read the same way gives the same bits with any number of workers; read otherwise (updates fall into other
cohorts) it agrees to float32 tolerance. Diverged training shows as a loss that is not a number. Not for
several calling threads at once.

Validation: tests/engine/learning against a sequential loop of torch.optim.SGD; speed in
benchmarks/learner.py.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cosim.codecs.port import FLOAT_BITS
from cosim.configuration import ConfigurationError, refuse
from cosim.data.dataset import Dataset
from cosim.engine.learning.arithmetic import exact
from cosim.engine.learning.cohorts import WORKING_SETS, working_set
from cosim.engine.learning.evaluator import Evaluator
from cosim.engine.learning.resolver import Resolver
from cosim.engine.learning.workers import MOST_WORKERS, Workers, one_torch_thread, workers_for
from cosim.networks.fingerprint import once
from cosim.networks.flops import TrainingFlops
from cosim.networks.initial_model import InitialModel
from cosim.networks.own_networks import OwnNetworks
from cosim.networks.personal import with_personal
from cosim.networks.probe.buffers import shape_of
from cosim.networks.probe.manner import Manner
from cosim.networks.probe.network import check_network
from cosim.networks.probe.rule import check_rule
from cosim.networks.probe.task import check_task
from cosim.networks.ready import ready_copy
from cosim.networks.slices import Slices
from cosim.own_code.dropout import dropping_layers
from cosim.records.measures import Measure
from cosim.tasks.metric import Answers
from cosim.tasks.port import Task
from cosim.tasks.suggested import task_for
from cosim.training.port import LocalTraining
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingModel, PendingUpdate, PendingValue
from cosim.values.weights import Weights, in_own_types, own_copy, own_weights, tensors_of


class Learner:
    """Computes pending models on one device.

    Args:
        network: Any module. Where it declares `unit_groups` it can be split, where `relu_layers` it trains
            faster.
        dataset: Training and test set.
        device: "cpu" or "cuda".
        num_workers: Threads. None means one per core that the process may use, one on CUDA.
        brings_weights: Learning starts from the network's own values, not from drawn ones.
        task: What is minimised and reported. None means what the targets of the data set suggest.
        personal: Parts of the network that clients keep to themselves (`cosim.networks.personal`).

    Attributes:
        shape: Parameter names and shapes, groups of units.
        flops: Operations of training.
        num_global_features: Features of a sample that only the server sees.
        dropout: Names of the layers that drop something in training.
        manner: Together or one by one: how clients are trained. None means that nothing is trained.

    Raises:
        ConfigurationError: a device that is not there; a task that the data set does not suit; a network with
            other outputs than the task asks for, with running statistics that nothing here moves, that draws
            where no key reaches, or whose `relu_layers` are not all it is.
    """

    manner: Manner | None

    def __init__(
        self,
        network: nn.Module,
        dataset: Dataset,
        device: str = "cpu",
        num_workers: int | None = None,
        brings_weights: bool = False,
        task: Task | None = None,
        personal: Sequence[str] = (),
    ) -> None:
        if device not in WORKING_SETS:
            raise refuse(
                "Learner", "device", device, f"must be one of {', '.join(WORKING_SETS)}", "Use one of them."
            )
        if device == "cuda" and not torch.cuda.is_available():
            raise ConfigurationError(
                'Learner.device = "cuda": no CUDA device here. Use device="cpu".', "Learner.device"
            )
        if num_workers is None:
            num_workers = workers_for(device)
        if not 1 <= num_workers <= MOST_WORKERS:
            rule = f"must be from 1 to {MOST_WORKERS}"
            raise refuse("Learner", "num_workers", num_workers, rule, "Leave it out, for the usual number.")
        self._network = ready_copy(network)  # other threads may use the network itself
        self._know(self._network, dataset, personal)
        self._device, self._brings_weights = device, brings_weights
        self.task = task_for(task, dataset)
        with one_torch_thread(), exact(device):
            once(check_task, self.task, dataset)
            self.manner = once(check_network, self._network, self.shape, dataset, self.task, device)
        self.workers = Workers(num_workers)

    def _know(self, network: nn.Module, dataset: Dataset, personal: Sequence[str]) -> None:
        """Set shapes and numbers of operations, for which values do not matter."""
        self._dataset, self.num_global_features = dataset, dataset.num_global_features
        self.shape = with_personal(shape_of(network, dataset.test_x), personal, network)
        self.dropout = dropping_layers(network)
        self.flops = TrainingFlops(network, self.shape, dataset)

    @cached_property
    def _training_set(self) -> TrainingSet:
        return TrainingSet(self._dataset, self._device, self.task)

    @cached_property
    def _own_networks(self) -> OwnNetworks:
        return OwnNetworks(self._network, self._device)

    @cached_property
    def _resolver(self) -> Resolver:
        assert self.manner is not None
        largest, device = working_set(self.manner.together, self._device), self._device
        on_cpu = device == "cpu"
        held = self._dataset.num_features if on_cpu else self.flops.activation_bits() // FLOAT_BITS
        own = self._own_networks, self.shape, self._training_set
        return Resolver(*own, largest, held, self.workers, device)

    @cached_property
    def _evaluator(self) -> Evaluator:
        own = self._own_networks, self._dataset, self._training_set, self.task
        return Evaluator(*own, self._slices, self.workers, self._device)

    @cached_property
    def _slices(self) -> Slices:
        return Slices(network=self._network, dataset=self._dataset)

    @property
    def evaluation_bytes(self) -> int:
        """Approximate memory of the machine for evaluating a model, in bytes; 0 on another device."""
        if self._device != "cpu" or self.manner is None:
            return 0
        evaluated = self._dataset.train_x if self.task.reads_training_set else self._dataset.test_x
        return self._slices.bytes_at_once(len(evaluated), self.workers.num_workers)

    @property
    def num_local_steps(self) -> int:
        """SGD steps computed so far, over all clients."""
        return self._resolver.num_local_steps

    def try_rule(self, rule: LocalTraining) -> None:
        """Let a rule with a train function of its own train once, on copies.

        Raises:
            ConfigurationError: It does what no rule may do.
        """
        with exact(self._device):
            check_rule(rule, self._own_networks.of_this_thread().train(), self.shape, self._training_set)

    def initial_model(self, key: int) -> PendingModel:
        """The network as its own initialisation draws it from a key, 0 to 2**64 - 1, or as it was brought."""
        if self._brings_weights:
            return PendingModel.of(own_weights(self._network, self.shape, self._device))
        return InitialModel(self._network, key)

    def stored_model(self, weights: Mapping[str, NDArray[np.float32]]) -> PendingModel:
        """A model from arrays that `weights` gave, as a checkpoint keeps them.

        Raises:
            ConfigurationError: Names or shapes differ from the whole network's.
        """
        given, names = {name: np.shape(values) for name, values in weights.items()}, self.shape.tensors
        if given != names:
            raise ConfigurationError(
                f"stored weights are {given}, but the network has {names}. Use the network of that run."
            )
        return PendingModel.of(self._tensors({name: np.asarray(weights[name], np.float32) for name in names}))

    def settle(self, value: PendingValue, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Give a model or a state, computed or not, the values that `weights` or `state` gave of it once."""
        value.settle(self._tensors(tensors))

    def trained(self, updates: Mapping[str, PendingUpdate]) -> dict[str, Weights]:
        """Weights of updates that are trained already and kept because something still needs them."""
        kept = self._resolver.kept
        return {name: kept[update] for name, update in updates.items() if update in kept}

    def keep(self, update: PendingUpdate, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Take an update for trained, with weights that a checkpoint has kept; it needs nothing else."""
        for value in update.inputs:
            if value.tensors is None:
                value.settle({})
        self._resolver.kept[update] = self._tensors(weights)

    def _tensors(self, arrays: Mapping[str, NDArray[Any]]) -> Weights:
        return {name: torch.tensor(array, device=self._device) for name, array in arrays.items()}

    def compute(self, *values: PendingValue) -> None:
        """Compute models and states together.

        Raises:
            ConfigurationError: A GPU has too little memory.
        """
        try:
            with exact(self._device):
                self._resolver.resolve(*values)
        except torch.OutOfMemoryError as error:
            raise ConfigurationError(
                f"the GPU has no memory left for training ({str(error).partition('. ')[0]}). Use a GPU that "
                'nothing else uses, a smaller batch_size, or device="cpu".'
            ) from error

    def weights(self, model: PendingModel) -> dict[str, NDArray[np.float32]]:
        """Parameter name -> a copy of its values, computing what is not computed yet."""
        return {name: array.copy() for name, array in self.arrays(self._computed(model)).items()}

    def state(self, state: PendingValue) -> dict[str, NDArray[Any]]:
        """Name -> a copy of its values, computing what is not computed yet."""
        self.compute(state)
        return {name: array.copy() for name, array in self.arrays(state.settled).items()}

    @staticmethod
    def arrays(tensors: Weights) -> dict[str, NDArray[Any]]:
        """Name -> its values, not to be changed."""
        return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Column -> what `evaluate` reports in it, the headline first."""
        return self.task.columns(self._dataset)

    def evaluate(self, model: PendingModel, own: Mapping[int, Weights] | None = None) -> Mapping[str, float]:
        """Report of the task and its metrics on a model, by column; computes the model first if needed.

        Args:
            own: Number of a client -> tensors that it has in place of the model's, for metrics of clients'
                own models.
        """
        weights, first = self._computed(model), self.task.first
        with exact(self._device):
            scores = self._evaluator.scores(weights, own)
        return scores if first is None else {first: scores[first]} | dict(scores)

    def answers(self, model: PendingModel) -> Answers:
        """Answers of a model to the test set."""
        weights = self._computed(model)
        with exact(self._device):
            return self._evaluator.answers(weights)

    def client_accuracies(self, model: PendingModel, num: int) -> NDArray[np.float64] | None:
        """Accuracy of a model on the test share of each of `num` clients, shape (clients,).

        NaN for an empty share. None if clients have no test shares, or quantities are predicted.
        """
        if self._dataset.test_owners is None or self._dataset.num_classes is None:
            return None
        return self.answers(model).accuracies_of_clients(num)

    def losses(
        self,
        model: PendingModel,
        samples: Sequence[NDArray[np.int64]],
        own: Sequence[Weights] | None = None,
    ) -> NDArray[np.float64]:
        """Mean loss of a model, or a part of one, on each of several groups of training samples.

        Args:
            model: Computed here, if it is not yet.
            samples: Of each group its training-set indices, or numbers row * num_classes + label.
            own: Of each group, tensors in place of the model's. None means the model's own.

        Returns:
            Losses of the task, shape (groups,).
        """
        weights = self._computed(model)
        with exact(self._device):
            return self._evaluator.losses(weights, samples, [{}] * len(samples) if own is None else own)

    def network_of(self, model: PendingModel) -> nn.Module:
        """The network with the weights of a model, in evaluation mode; computes what is not yet."""
        weights, trained = self._computed(model), own_copy(self._network)
        tensors = tensors_of(trained)
        with torch.no_grad():
            for name, values in in_own_types(trained, weights).items():
                tensors[name].copy_(values)
        return trained.eval()

    def _computed(self, model: PendingModel) -> Weights:
        """Tensors of a model, or of a part of one, that belong to the network."""
        self.compute(model)
        return {name: model.settled[name] for name in self.shape.tensors}
