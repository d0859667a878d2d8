"""Client by client: a rule's own torch function, called for one update after the other on each thread.

Every update is a cohort of its own. The function gets a `ClientView`, and the values that its network has at
the end are what comes out. Of a rule that keeps a state it returns the next one. Gradients are switched on;
the network is in training mode.

Randomness: dropout layers draw from the update's key (`cosim.learning.dropout`), mini-batches as well, and
what the function draws itself it draws from `client.generator`. torch's and numpy's global generators belong
to all threads, so what a function drew there would depend on who came first: it is refused. Setting their
state for a while, as `torch.random.fork_rng` does, is no way out, and Python's `random` is not watched.

Scope and limitations: slower than a batched program where networks are small, about as fast where a client is
trained alone anyway (convolutions, dropout, frozen layers). Of a part of a network, the module keeps the
sizes that its layers print, and has the part's tensors.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

import torch
from torch import Tensor, nn

from cosim.configuration import ConfigurationError
from cosim.learning.dropout import keyed_dropout, stream_key
from cosim.learning.local_training import LocalTraining
from cosim.learning.pending import PendingUpdate
from cosim.learning.programs.sgd_steps import mini_batches
from cosim.learning.randomness_probe import generator_states
from cosim.learning.training_set import TrainingSet
from cosim.learning.weights import Weights, frozen_on, own_copy

GENERATOR_BITS = 63
"""A torch.Generator takes seeds that a signed whole number of 64 bits can hold."""


class ClientView:
    """What a rule's function is given of one client.

    Args:
        update: What is asked for.
        network: The client's own.
        data: Where its samples are.

    Attributes:
        name: Of the client.
        network: Its own copy, with the values of the start; what it holds at the end comes out.
        num_steps: Local steps that are asked for, and paid for in simulated time.
        loss: Mean loss of a batch, from outputs and targets.
    """

    def __init__(self, update: PendingUpdate, network: nn.Module, data: TrainingSet) -> None:
        self._update, self._data = update, data
        self.name, self.num_steps = update.client, update.num_steps
        self.network, self.loss = network, data.loss

    @cached_property
    def start(self) -> Weights:
        """Tensor name -> its values before training, its own copies."""
        return {name: values.clone() for name, values in self._update.start.settled.items()}

    @cached_property
    def generator(self) -> torch.Generator:
        """The source of what else is drawn; it follows from the update's key."""
        seed = stream_key(self._update.key, "local training") % 2**GENERATOR_BITS
        return torch.Generator(self._data.x_ND.device).manual_seed(seed)

    @cached_property
    def state(self) -> Weights:
        """Name -> what the client has kept from its last training, its own copies; empty at first."""
        kept = self._update.state
        return {} if kept is None else {name: values.clone() for name, values in kept.settled.items()}

    def samples(self) -> tuple[Tensor, Tensor]:
        """Features and classes or targets of all samples that the client has."""
        return self._data.labelled(self._update.samples)

    def batches(self, num_steps: int, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Features and classes or targets of mini-batches: those of plain SGD, the same each time."""
        for batch in mini_batches(self._update.samples, num_steps, batch_size, self._update.key):
            yield self._data.labelled(batch)


class ClientByClient:
    """Calls `train` of an update's rule."""

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        """The update itself, so it trains alone."""
        return update

    def train(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, cohort: Sequence[PendingUpdate]
    ) -> Sequence[Weights]:
        """Train a cohort of one, in place on its client's weights; returns the state that it leaves."""
        (update,) = cohort
        own = own_copy(network, frozen_on(network, data.x_ND.device.type))
        for name, tensor in tensors_of(own, weights_C).items():
            tensor.data = weights_C[name][0]
        before = generator_states()
        with torch.enable_grad(), keyed_dropout(own, update.key):
            state = update.training.train(ClientView(update, own, data))
        drawn = [name for name, state in generator_states().items() if state != before[name]]
        if drawn:
            raise ConfigurationError(
                f"{type(update.training).__name__}.train draws from {drawn[0]}, which all threads share, so "
                "results would not be those of the seed. Usual fix: generator=client.generator."
            )
        for name, tensor in tensors_of(own, weights_C).items():
            weights_C[name][0].copy_(tensor.detach())
        return [kept_copies(update.training, state)]


def kept_copies(training: LocalTraining, state: Mapping[str, Tensor] | None) -> Weights:
    """The state that a rule's function returned, its tensors the learner's own from now on.

    Raises:
        ConfigurationError: It is none, or of a rule that does not say that it keeps one.
    """
    kind = type(training).__name__
    if state is None:
        return {}
    if not training.keeps_state:
        raise ConfigurationError(
            f"{kind}.train returned a state, and nobody would keep it. Usual fix: keeps_state = True in the "
            "class."
        )
    if not isinstance(state, Mapping) or not all(isinstance(values, Tensor) for values in state.values()):
        raise ConfigurationError(
            f"{kind}.train returned a {type(state).__name__}: must be a dictionary of tensors, or None."
        )
    return {str(name): values.detach().clone() for name, values in state.items()}


def tensors_of(network: nn.Module, weights: Weights) -> dict[str, Tensor]:
    """A network's own tensors that a model consists of."""
    tensors = dict(network.named_parameters()) | dict(network.named_buffers())
    return {name: tensors[name] for name in weights}
