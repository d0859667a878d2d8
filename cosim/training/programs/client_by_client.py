"""Client by client: a rule's own torch function, called for one update after the other on each thread.

Every update is a cohort of its own. The function gets a `ClientView` (`cosim.training.port`), and the final
values of its network are the update. A rule that keeps a state returns the next one. Gradients are switched
on.

Randomness: dropout layers and mini-batches draw from the update's key (`cosim.own_code.dropout`), and the
function itself draws from `client.generator`; draws from generators that all threads share are refused
(`cosim.own_code.own_functions`).

Scope and limitations: slower than a batched program for small networks, about as fast if a client is trained
alone anyway (convolutions, dropout, frozen layers). A buffer that only the function changes, and no forward
pass, is sent if the network declares it (`moving_buffers`), and is refused otherwise. For a part of a
network, the module keeps the sizes that its layers print, and has the part's tensors.
"""

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property, partial

import torch
from torch import Tensor, nn
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.own_code.dropout import keyed_dropout
from cosim.own_code.global_generators import asked_for_randomness
from cosim.own_code.own_functions import generator, kept_copies, without_shared_draws
from cosim.own_code.unchanged import differ
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights, frozen_on, in_own_types, own_copy, tensors_of


class _Client:
    def __init__(
        self, update: PendingUpdate, network: nn.Module, data: TrainingSet, companions: Weights
    ) -> None:
        self._update, self._data, self.companions = update, data, companions
        self.name, self.round, self.num_steps = update.client, update.round, update.num_steps
        self.network, self.loss = network, data.loss

    @cached_property
    def initial(self) -> Weights:
        begun = self._update.begun
        return {name: values.clone() for name, values in begun.items() if name not in self.companions}

    @cached_property
    def generator(self) -> torch.Generator:
        return generator(self._update.key, "local training")

    @cached_property
    def state(self) -> Weights:
        kept = self._update.state
        return {} if kept is None else {name: values.clone() for name, values in kept.settled.items()}

    def samples(self) -> tuple[Tensor, Tensor]:
        return self._data.labelled(self._update.samples)

    def batches(self, num_steps: int, batch_size: int) -> "_Batches":
        with asked_for_randomness():  # draws by generators made of keys are not the function's
            batches = mini_batches(self._update.samples, num_steps, batch_size, self._update.key)
        return _Batches(self._data, torch.from_numpy(batches).to(self._data.x_ND.device))


class _Batches(Iterator[tuple[Tensor, Tensor]]):
    def __init__(self, data: TrainingSet, samples_SB: Tensor) -> None:
        self._data, self._samples = data, samples_SB.unbind(0)
        self.num_taken, self._is_over = 0, False

    def __len__(self) -> int:
        return len(self._samples)

    @override
    def __iter__(self) -> "_Batches":
        """Return itself; refuse a second pass, which would find nothing."""
        if self._is_over:
            raise ConfigurationError(
                "a train function goes through its mini-batches a second time, but each of them is a "
                "step that takes simulated time and energy. Make one pass, and ask for more steps: "
                "SameSteps(num_local_steps=...) or Epochs(num_epochs=...)."
            )
        return self

    @override
    def __next__(self) -> tuple[Tensor, Tensor]:
        if self.num_taken == len(self):
            self._is_over = True
            raise StopIteration
        self.num_taken += 1
        return self._data.at(self._samples[self.num_taken - 1])


class ClientByClient:
    """Program that calls `train` of an update's rule.

    Args:
        function: Name of the function, for messages.
        source: Name of the generator that it draws from, for messages.
    """

    def __init__(self, function: str, source: str) -> None:
        self._function, self._source = function, source

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        """The update itself, so it trains alone."""
        return update

    def keeps_bits(self, network: nn.Module, update: PendingUpdate, data: TrainingSet) -> bool:
        return False

    def train(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, cohort: Sequence[PendingUpdate]
    ) -> Sequence[Weights]:
        """Train a cohort of one, in place on its client's weights; returns its state."""
        (update,) = cohort
        call = partial(self._trained, network, weights_C, data, update)
        state, arriving, asked = without_shared_draws(self._function, self._source, call)
        if asked:
            self._check_same(arriving, without_shared_draws(self._function, self._source, call)[1])
        for name, tensor in arriving.items():
            weights_C[name][0].copy_(tensor.detach())
        return [state]

    def _trained(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, update: PendingUpdate
    ) -> tuple[Weights, Weights, bool]:
        """State and weights after an update, and whether the function has used the system's randomness.

        The weights that it starts from are not changed.
        """
        tensors = _of_model(network, weights_C)
        own = _own_network(network, tensors, weights_C, data.x_ND.device.type)
        companions = {
            name: values_C[0].clone() for name, values_C in weights_C.items() if name not in tensors
        }
        rule, view = update.training, _Client(update, own, data, dict(companions))
        with torch.enable_grad(), keyed_dropout(own, update.key), asked_for_randomness() as asked:
            state = kept_copies(self._function, rule.keeps_state, rule.train(view))  # pyright: ignore[reportArgumentType]
        if constants := {name for name, _ in network.named_buffers()} - tensors.keys():
            self._check_constants(network, own, constants, data, update)
        arriving = _of_model(own, weights_C) | {name: view.companions[name] for name in companions}
        return state, arriving, bool(asked)

    def _check_same(self, arriving: Weights, again: Weights) -> None:
        """Refuse a function that has used the system's randomness and gives another result when repeated."""
        if other := next((name for name, values in arriving.items() if differ(values, again[name])), None):
            raise ConfigurationError(
                f"{self._function} gives another {other} each time it is called with the same values, "
                f"so it draws from a generator without a seed. Use generator={self._source}."
            )

    def _check_constants(
        self,
        network: nn.Module,
        trained: nn.Module,
        constants: set[str],
        data: TrainingSet,
        update: PendingUpdate,
    ) -> None:
        """Refuse a function that changes a buffer which is not sent; a pass may fill a table."""

        def moved(other: nn.Module) -> list[str]:
            before, after = dict(other.named_buffers()), dict(trained.named_buffers())
            both = constants & after.keys() & before.keys()
            return sorted(name for name in both if differ(after[name], before[name]))

        if moved(network):
            filled = own_copy(network).train()
            x_BD, _ = data.labelled(update.samples[: update.training.batch_size])
            with torch.no_grad(), keyed_dropout(filled, update.key):
                filled(x_BD)
            if names := moved(filled):
                raise ConfigurationError(
                    f"{self._function} moves {', '.join(names)} of the network, which no forward pass "
                    "moves, so it would be taken for a constant and not be sent. Set "
                    f"self.moving_buffers = {tuple(names)!r} in the network's constructor."
                )


def _own_network(network: nn.Module, tensors: Weights, weights_C: Weights, device: str) -> nn.Module:
    """A copy of a network with copies of a client's weights, which shares frozen layers and nothing else."""
    values = {name: weights_C[name][0].clone() for name in tensors}
    instead = {
        id(tensor): nn.Parameter(values.pop(name), tensor.requires_grad)
        for name, tensor in tensors.items()
        if type(tensor) is nn.Parameter
    }
    own = own_copy(network, frozen_on(network, device) | instead)
    if values:
        copied = _of_model(own, values)
        for name, others in in_own_types(own, values).items():
            copied[name].data = others
    return own


def _of_model(network: nn.Module, weights: Weights) -> dict[str, Tensor]:
    """Tensors of a network that belong to the model."""
    tensors = tensors_of(network)
    return {name: tensors[name] for name in weights if name in tensors}
