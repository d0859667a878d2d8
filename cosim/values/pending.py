"""Pending models and updates: learning that is asked for now and computed when first read.

The event side builds a graph of these; nothing in it holds numbers until `Learner.weights` or
`Learner.evaluate` reads a model. Model, state, samples, steps, rule and key determine an update wholly.

A codec may change what arrives of an update (`PendingUpdate.codec`); it is part of the update, whose weights
are then the weights that arrive.

A rule, or a codec, that keeps a state from one training to the next gets it from the update
(`PendingUpdate.state`, `codec_state`), and leaves another (`next_state`, `next_codec_state`), which the
client's next update may get. What of the network a client keeps to itself goes the same way (`own`,
`next_own`). So an update that no model reads, because it was dropped, is trained after all
where a state is read that follows from it.

Scope and limitations: what is made of updates is made of one weighted sum of them, so that a client's weights
live only until they are added. Where an update is referenced beyond that, by a model that is not settled yet
or by a variable, a learner keeps its weights as long, so that it is trained once for all that need it.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import Port, refuse
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.codecs.port import Codec
    from cosim.training.port import LocalTraining
    from cosim.values.weights import Weights


class PendingValue:
    """Named tensors that are determined but not computed yet.

    Args:
        parents: Values that it is made of.
        updates: Client updates that it is made of.

    Attributes:
        coefficients: One per update: its factor in the sum that the value is made of, or None.
        version: The latest version of the global model that it is, or is made of; 0 is the initial one.
        tensors: None until computed; then never changed in place.
    """

    __slots__ = ("__weakref__", "coefficients", "parents", "tensors", "updates", "version")

    def __init__(
        self,
        parents: Sequence["PendingValue"] = (),
        updates: Sequence["PendingUpdate"] = (),
        coefficients: Sequence[float | None] = (),
    ) -> None:
        self.parents = tuple(parents)
        self.updates = tuple(updates)
        self.coefficients = tuple(coefficients)
        self.version = max(
            max((parent.version for parent in self.parents), default=0),
            max((update.model.version for update in self.updates), default=0),
        )
        self.tensors: Weights | None = None

    @classmethod
    def of(cls, tensors: "Weights") -> Self:
        """One whose tensors are known."""
        value = cls()
        value.settle(tensors)
        return value

    @property
    def round(self) -> int:
        """The round of what starts from it, from 1."""
        return self.version + 1

    def settle(self, tensors: "Weights") -> None:
        """Keep the tensors, and drop everything they came from."""
        self.tensors = tensors
        self.parents = self.updates = self.coefficients = ()

    @property
    def settled(self) -> "Weights":
        """The tensors of a value that is computed."""
        assert self.tensors is not None, "read through a learner"
        return self.tensors


class PendingModel(PendingValue):
    """A model: float32 weights, made of other models and of one weighted sum of updates.

    One without more is the sum itself.
    """

    __slots__ = ()

    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        """The weights of this model.

        Args:
            shape: The full network.
            models: Weights of the parents, float32, not to be changed.
            update_sum: Sum of coefficient times updated weights, float64, the model's own; None without
                updates.
        """
        assert update_sum is not None
        return update_sum


class PendingState(PendingValue):
    """State that a client or a server keeps from one training to its next, such as momentum.

    It is an output of the update or the model that makes it, and is computed with it if a reference to it
    exists. Without a reference it is dropped.
    """

    __slots__ = ()


def _nothing() -> None:
    """The state that nothing has left."""


class NextState:
    """The state that something leaves, for as long as anybody references it."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: Callable[[], PendingState | None] = _nothing

    @property
    def wanted(self) -> PendingState | None:
        """The state, if a reference to it exists and it is not computed yet."""
        state = self._known()
        return state if state is not None and state.tensors is None else None

    def of(self, make: Callable[[], PendingState]) -> PendingState:
        """The state, made if no reference to one exists."""
        if (state := self._known()) is None:
            self._known = weakref.ref(state := make())
        return state


def _own_indices(samples: Any) -> NDArray[np.int64]:
    array = np.asarray(samples)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        raise refuse("PendingUpdate", "samples", samples, "must be training-set indices, at least one")
    if array.dtype == np.int64 and array.base is None and not array.flags.writeable:
        return array
    array = array.astype(np.int64)
    array.flags.writeable = False
    return array


def _in_its_round(rule: "LocalTraining", update: Any) -> "LocalTraining":
    if not isinstance(rule, Port):
        raise refuse(type(update), "training", rule, "must be a local training", "Use Sgd().")
    return rule.in_round(update.round)


@attrs.frozen(eq=False, repr=False, kw_only=True)
class PendingUpdate:
    """Result of one client's local training, on the samples that it has at this instant.

    Attributes:
        client: Name; sums go in the order of names.
        model: The model that training starts from.
        samples: Training-set indices, or numbers row * num_classes + label where the data set has no train_y;
            shape (samples,); copied unless read-only.
        num_steps: Local steps.
        round: Round in which it trains: its model's.
        training: The rule by which it trains, with the numbers of that round.
        key: Determines the mini-batches and the masks of dropout, 0 to 2**64 - 1.
        state: What the client has kept from its last training. None means nothing.
        codec: What its change goes through on its way. None means that what was sent arrives.
        codec_state: What the codec has kept from the client's last training. None means nothing.
        own: Tensors of the network that the client has in place of the model's and keeps to itself, none
            before it has trained. None means that it keeps nothing to itself.
    """

    client: str
    model: PendingModel
    samples: NDArray[np.int64] = attrs.field(converter=_own_indices)
    num_steps: int
    round: int = attrs.field(default=attrs.Factory(lambda self: self.model.round, takes_self=True))
    training: "LocalTraining" = attrs.field(converter=attrs.Converter(_in_its_round, takes_self=True))
    key: int
    state: PendingState | None = None
    codec: "Codec | None" = None
    codec_state: PendingState | None = None
    own: PendingState | None = None
    left: NextState = attrs.field(factory=NextState, init=False)
    left_by_codec: NextState = attrs.field(factory=NextState, init=False)
    left_own: NextState = attrs.field(factory=NextState, init=False)

    @property
    def inputs(self) -> tuple[PendingValue, ...]:
        """Values that must be computed before it is trained."""
        kept = (self.state, self.codec_state, self.own)
        return (self.model, *(state for state in kept if state is not None))

    @property
    def next_state(self) -> PendingState:
        """State that the client keeps of this training, one object for as long as a reference to it exists.

        A copy of the update has the same.
        """
        return self.left.of(lambda: PendingState(updates=(self,), coefficients=(None,)))

    @property
    def next_codec_state(self) -> PendingState:
        """State that the codec keeps of it, likewise."""
        return self.left_by_codec.of(lambda: PendingState(updates=(self,), coefficients=(None,)))

    @property
    def next_own(self) -> PendingState:
        """Tensors of the network that the client keeps to itself then, likewise."""
        return self.left_own.of(lambda: PendingState(updates=(self,), coefficients=(None,)))

    @property
    def wanted_states(self) -> tuple[PendingState | None, PendingState | None, PendingState | None]:
        """The next states of rule and codec, and the next `own`, that are referenced and not computed yet."""
        return self.left.wanted, self.left_by_codec.wanted, self.left_own.wanted

    @property
    def begun(self) -> "Weights":
        """Weights that training begins with, once computed: the model's, and the client's own."""
        return self.model.settled if self.own is None else self.model.settled | self.own.settled

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.num_steps, int | np.integer) or self.num_steps < 1:
            raise refuse(type(self), "num_steps", self.num_steps, "must be a whole number of at least 1")
        check_key(type(self), self.key)


def check_key(owner: type, key: int) -> None:
    """Refuse a key that no generator takes.

    Raises:
        ConfigurationError: It is no whole number from 0 to 2**64 - 1.
    """
    if not isinstance(key, int | np.integer) or not 0 <= key < 2**64:
        raise refuse(owner, "key", key, "must be a whole number from 0 to 2**64 - 1")
