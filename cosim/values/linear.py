"""Linear combinations of updates and models.

Parameters are moved along changes, and running statistics and state are averaged: a change that counts more
than once, or is added to another model than it is of, would take a variance below 0. They are the mean of the
results, by their coefficients, as far as these make up the whole, and for the rest what the model had.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.values.weights import Weights


class LinearCombination(PendingModel):
    """Sum of coefficient times updated weights over updates, then of factor times weights over models.

    A model with factor 0 is left out: nothing waits for it, and 0 times infinity does not occur.

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
