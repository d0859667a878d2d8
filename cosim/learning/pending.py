"""Pending models and updates: learning that is asked for now and computed when first read.

The event side builds a graph of these; nothing in it holds numbers until `Learner.weights` or
`Learner.evaluate` reads a model. Requests are stateless: start, samples, steps and a key determine an update
wholly.

Scope and limitations: what is made of updates is made of one weighted sum of them, so that a client's weights
live only until they are added. An update that several reads need is trained for each.

To add a way to combine, write a subclass; the learner stays as it is::

    class NoisySum(PendingModel):
        \"\"\"Sum of coefficient times updated weights, with normal noise that a key determines.\"\"\"

        __slots__ = ("deviation", "key")

        def __init__(self, updates, coefficients, deviation, key):
            super().__init__((), updates, coefficients)
            self.deviation, self.key = deviation, key

        def combine(self, shape, models, update_sum):
            generator = torch.Generator().manual_seed(self.key)
            return {
                name: total + self.deviation * torch.randn(total.shape, generator=generator)
                for name, total in update_sum.items()
            }
"""

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from torch import nn

from cosim.configuration import ConfigurationError, refuse
from cosim.learning.submodels import NetworkShape, Part
from cosim.learning.weights import WeightedSum, Weights, assembled, cut, initial_weights


class PendingModel:
    """A model that is determined but not computed yet.

    Args:
        parents: Models whose weights `combine` needs.
        updates: Client updates whose weighted sum `combine` needs.
        coefficients: One per update.

    Attributes:
        weights: None until computed; then float32, never changed in place.
    """

    __slots__ = ("__weakref__", "coefficients", "parents", "updates", "weights")

    def __init__(
        self,
        parents: Sequence["PendingModel"] = (),
        updates: Sequence["PendingUpdate"] = (),
        coefficients: Sequence[float] = (),
    ) -> None:
        self.parents = tuple(parents)
        self.updates = tuple(updates)
        self.coefficients = tuple(coefficients)
        self.weights: Weights | None = None

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        """The weights of this model.

        Args:
            shape: The full network.
            models: Weights of the parents, float32, not to be changed.
            update_sum: Sum of coefficient times updated weights, float64; None without updates.
        """
        raise NotImplementedError

    def settle(self, weights: Weights) -> None:
        """Keep the weights and let go of everything they came from."""
        self.weights = weights
        self.parents = self.updates = self.coefficients = ()

    @property
    def settled(self) -> Weights:
        """The weights of a model that is computed."""
        assert self.weights is not None, "read through a learner"
        return self.weights


def _own_indices(samples: Any) -> NDArray[np.int64]:
    array = np.asarray(samples)
    if array.ndim != 1 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise refuse("PendingUpdate", "samples", samples, "must be training-set indices, at least one")
    if array.dtype == np.int64 and array.base is None and not array.flags.writeable:
        return array
    array = array.astype(np.int64)
    array.flags.writeable = False
    return array


@attrs.frozen(eq=False, repr=False, kw_only=True)
class PendingUpdate:
    """One client's local training by plain SGD, on the samples it has at this instant.

    Mini-batches are cut from random permutations of the samples laid back to back, so every batch is full:
    the batch that crosses the end of an epoch takes the rest from the next.

    Attributes:
        client: Name; sums go in the order of names.
        start: The model that training starts from.
        samples: Training-set indices, or numbers row * num_classes + label where the data set has no train_y;
            shape (samples,); copied unless read-only.
        num_steps: SGD steps.
        batch_size: Samples per step.
        learning_rate: Step size.
        key: Determines the mini-batches, 0 to 2**64 - 1.
    """

    client: str
    start: PendingModel
    samples: NDArray[np.int64] = attrs.field(converter=_own_indices)
    num_steps: int
    batch_size: int
    learning_rate: float
    key: int

    @property
    def program(self) -> tuple[Any, ...]:
        """What updates must share to be trained together, beside their shapes."""
        return ("steps", self.num_steps, self.batch_size, self.learning_rate)

    def __attrs_post_init__(self) -> None:
        for name in ("num_steps", "batch_size"):
            count = getattr(self, name)
            if not isinstance(count, int | np.integer) or count < 1:
                raise refuse(type(self), name, count, "must be a whole number of at least 1")
        if not 0 < self.learning_rate < np.inf:
            raise refuse(type(self), "learning_rate", self.learning_rate, "must be finite and above 0")
        _check_key(type(self), self.key)


def _check_key(owner: type, key: int) -> None:
    if not isinstance(key, int | np.integer) or not 0 <= key < 2**64:
        raise refuse(owner, "key", key, "must be a whole number from 0 to 2**64 - 1")


class InitialModel(PendingModel):
    """A network as its own initialisation draws it from a key."""

    __slots__ = ("key", "network")

    def __init__(self, network: nn.Module, key: int) -> None:
        _check_key(type(self), key)
        super().__init__()
        self.network, self.key = network, key

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        return initial_weights(self.network, self.key)


class StoredModel(PendingModel):
    """A model whose weights are known: a checkpoint."""

    __slots__ = ()

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.settle(weights)


class UpdateSum(PendingModel):
    """Sum of coefficient times updated weights."""

    __slots__ = ()

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        assert update_sum is not None
        return update_sum


class GradientStep(PendingModel):
    """start + sum of coefficient times (update - start), over updates that start from there."""

    __slots__ = ("total",)

    def __init__(
        self, start: PendingModel, updates: Sequence[PendingUpdate], coefficients: Sequence[float]
    ) -> None:
        super().__init__((start,), updates, coefficients)
        self.total = math.fsum(coefficients)

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        assert update_sum is not None
        running = WeightedSum()
        running.add(1.0, update_sum)
        running.add(1.0 - self.total, models[0])
        return running.total


class ModelSum(PendingModel):
    """Sum of factor times weights over models."""

    __slots__ = ("factors",)

    def __init__(self, models: Sequence[PendingModel], factors: Sequence[float]) -> None:
        super().__init__(models)
        self.factors = tuple(factors)

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        running = WeightedSum()
        for factor, weights in zip(self.factors, models, strict=True):
            running.add(factor, weights)
        return running.total


class Submodel(PendingModel):
    """The part of a full model that one cell trains."""

    __slots__ = ("part",)

    def __init__(self, model: PendingModel, part: Part) -> None:
        super().__init__((model,))
        self.part = part

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        return cut(models[0], shape, self.part)


class AssembledModel(PendingModel):
    """A full model put together from the models of disjoint parts."""

    __slots__ = ("parts",)

    def __init__(
        self, parts: Sequence[Part], models: Sequence[PendingModel], base: PendingModel | None
    ) -> None:
        super().__init__((*models, *(() if base is None else (base,))))
        self.parts = tuple(parts)

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        num_parts = len(self.parts)
        base = models[num_parts] if len(models) > num_parts else None
        return assembled(shape, self.parts, models[:num_parts], base)


def mean(updates: Sequence[PendingUpdate], weights: Sequence[float] | None = None) -> PendingModel:
    """Mean of updated models. [HIST journal, equation 6]

    Args:
        updates: At least one.
        weights: Relative weight of each, for example its number of samples, divided by their sum; None:
            equal.
    """
    return UpdateSum(updates=updates, coefficients=_shares(len(updates), weights))


def accumulate(
    model: PendingModel, updates: Sequence[PendingUpdate], coefficients: Sequence[float]
) -> PendingModel:
    """A model moved along its clients' accumulated gradients. [RawHFL, equation 15]

    A client that trains from w to w_u with rate eta has the accumulated gradient g_u = (w - w_u) / eta, so
    w - eta sum (alpha_u / p_u) g_u = w + sum (alpha_u / p_u) (w_u - w), over the clients whose updates
    arrived; their coefficients need not sum to 1.

    Args:
        model: Where all updates start.
        updates: At least one.
        coefficients: One per update: alpha_u / p_u, the client's weight over the probability that its update
            arrives.
    """
    if not updates:
        raise ConfigurationError(
            "accumulated gradients of nothing. Usual fix: keep the old model when no update arrived."
        )
    if len(coefficients) != len(updates) or not np.isfinite(np.asarray(coefficients, dtype=float)).all():
        raise ConfigurationError(
            f"coefficients = {coefficients}: must be {len(updates)} finite numbers, one per update. Usual "
            "fix: no probability of 0 below an update that arrived."
        )
    elsewhere = [update.client for update in updates if update.start is not model]
    if elsewhere:
        raise ConfigurationError(
            f"updates of {', '.join(elsewhere)} start from another model than the one they are to move. "
            "Usual fix: train from the model that is moved."
        )
    return GradientStep(model, updates, [float(coefficient) for coefficient in coefficients])


def mean_of_models(models: Sequence[PendingModel], weights: Sequence[float] | None = None) -> PendingModel:
    """Mean of models, as a cloud averages its edges' models.

    Args:
        models: At least one.
        weights: Relative weight of each, divided by their sum; None: equal.
    """
    return ModelSum(models, _shares(len(models), weights))


def submodel(model: PendingModel, part: Part) -> PendingModel:
    """The part of a full model that one cell trains. [HIST journal, equation 4]"""
    return Submodel(model, part)


def assemble(
    parts: Sequence[Part], models: Sequence[PendingModel], base: PendingModel | None = None
) -> PendingModel:
    """The full model from the models of disjoint parts. [HIST journal, equation 7]

    Args:
        parts: Disjoint parts.
        models: The model of each part.
        base: The full model that holds where no part does (a cell that sent nothing); None: the
            parts cover everything.
    """
    if len(parts) != len(models) or not parts:
        raise ConfigurationError(
            f"{len(parts)} parts and {len(models)} models: one model per part, at least one."
        )
    return AssembledModel(parts, models, base)


def _shares(count: int, weights: Sequence[float] | None) -> tuple[float, ...]:
    if count == 0:
        raise ConfigurationError("a mean of nothing. Usual fix: keep the old model when no update arrived.")
    relative = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    if (
        relative.shape != (count,)
        or not np.isfinite(relative).all()
        or relative.min() < 0
        or relative.sum() <= 0
    ):
        raise ConfigurationError(
            f"weights = {weights}: must be {count} numbers, none below 0, one of them above 0."
        )
    return tuple(float(share) for share in relative / relative.sum())
