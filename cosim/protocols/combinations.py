"""Combinations of models by protocols: sums, means, submodels, and models made of submodels.

They are pending, as what they are made of, and computed when a learner reads them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.values.combinations import shares
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape, Part

if TYPE_CHECKING:
    from cosim.values.weights import Weights


class LinearCombination(PendingModel):
    """Sum of coefficient times updated weights over updates, then of factor times weights over models.

    A model with factor 0 is left out: nothing waits for it, and 0 times infinity does not occur.

    Parameters are moved along changes, and running statistics and state are averaged: a change that counts
    more than once, or is added to another model than it is of, would take a variance below 0. They are the
    mean of the results, by their coefficients, as far as these make up the whole, and for the rest what the
    model had.

    Args:
        scale: Scale of the coefficients, for running statistics and state.
        factors_of_moving: Factors of the models for these. None means the same factors as for all other
            tensors.
    """

    __slots__ = ("factors", "factors_of_moving", "scale")

    def __init__(
        self,
        models: Sequence[PendingModel],
        factors: Sequence[float],
        updates: Sequence[PendingUpdate] = (),
        coefficients: Sequence[float] = (),
        *,
        scale: float = 1.0,
        factors_of_moving: Sequence[float] | None = None,
    ) -> None:
        own = factors if factors_of_moving is None else factors_of_moving
        used = [of for of in zip(models, factors, own, strict=True) if any(of[1:])]
        super().__init__([model for model, *_ in used], updates, coefficients)
        self.factors, self.scale = tuple(factor for _, factor, _ in used), scale
        self.factors_of_moving = tuple(factor for *_, factor in used)

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        from cosim.values.weights import WeightedSum

        running, moving = WeightedSum(update_sum), shape.moving
        if self.scale != 1.0:
            for name in moving.keys() & running.total.keys():
                running.total[name] *= self.scale
        for factor, own, weights in zip(self.factors, self.factors_of_moving, models, strict=True):
            if own == factor:
                running.add(factor, weights)
                continue
            for of, is_moving in ((factor, False), (own, True)):
                if of:
                    running.add(of, {n: v for n, v in weights.items() if (n in moving) == is_moving})
        return {name: running.total[name] for name in shape.tensors if name in running.total} | running.total


def mean_of_models(models: Sequence[PendingModel], weights: Sequence[float] | None = None) -> PendingModel:
    """Mean of models, as a cloud averages its edges' models.

    Args:
        models: At least one.
        weights: Relative weight of each, divided by their sum. None means equal weights.
    """
    return LinearCombination(models, shares(len(models), weights))


class Submodel(PendingModel):
    """The part of a full model that one cell trains. [HIST journal, equation 4]"""

    __slots__ = ("part",)

    def __init__(self, model: PendingModel, part: Part) -> None:
        super().__init__((model,))
        self.part = part

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        from cosim.values.weights import cut

        return cut(models[0], shape, self.part)


class AssembledModel(PendingModel):
    """The full model from the models of disjoint parts. [HIST journal, equation 7]

    Args:
        parts: Disjoint parts.
        models: The model of each part.
        base: The full model that holds where no part does (a cell that sent nothing). None means that the
            parts cover everything.
    """

    __slots__ = ("parts",)

    def __init__(
        self, parts: Sequence[Part], models: Sequence[PendingModel], base: PendingModel | None = None
    ) -> None:
        if len(parts) != len(models) or not parts:
            raise ConfigurationError(
                f"{len(parts)} parts and {len(models)} models: must be as many, and at least one. Give a "
                "model for each part."
            )
        super().__init__((*models, *(() if base is None else (base,))))
        self.parts = tuple(parts)

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        from cosim.values.weights import assembled

        num_parts = len(self.parts)
        base = models[num_parts] if len(models) > num_parts else None
        return assembled(shape, self.parts, models[:num_parts], base)
