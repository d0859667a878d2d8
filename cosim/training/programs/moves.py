"""Moves: a step that adds multiples of tensors to each other, the same in each step.

Plain SGD, momentum, the proximal term and SCAFFOLD move in this way.

Shape suffix: C clients of the cohort.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from cosim.training.programs.steps import CompiledStep, EachParameter, Gradient
from cosim.values.weights import Weights

VALUES, GRADIENT, WHOLE = "values", "gradient", "whole"
"""Names of a parameter's values, of its gradient, and of its gradient multiplied out for several moves."""


class Move(NamedTuple):
    """An addition to a parameter, or to a tensor kept beside it.

    Attributes:
        into: Kind of the tensor that is changed.
        of: Kind of the tensor that is added; parameters that have none skip the move.
        factor: Factor of what is added.
        kept: Factor of the tensor before, if a gradient is added.
    """

    into: str
    of: str
    factor: float
    kept: float = 1.0


class MovesStep(EachParameter):
    """Step that makes the same moves each time.

    Args:
        beside_C: Kind -> parameter -> tensors kept beside it, shape (clients, ...).
        moves: The moves, in order.
    """

    def __init__(self, beside_C: dict[str, Weights], moves: Sequence[Move]) -> None:
        super().__init__(beside_C)
        self.moves = moves

    @override
    def by_gradient(self, name: str, values_C: Tensor, gradient: Gradient) -> None:
        whole: Gradient | None = None
        for into, of, factor, kept in self.moves:
            into_C = values_C if into == VALUES else self.beside_C[into][name]
            if of == GRADIENT:
                gradient.add_to(into_C, factor, kept)
            elif of == WHOLE:
                whole = whole or gradient.whole()
                whole.add_to(into_C, factor, kept)
            elif (added_C := values_C if of == VALUES else self.beside_C[of].get(name)) is not None:
                into_C.add_(added_C, alpha=factor)

    @override
    def compiled_step(self, values_C: Weights, divisor: float) -> CompiledStep | None:
        """None if a subclass moves parameters in another way."""
        own = type(self)
        if own.by_gradient is not MovesStep.by_gradient or own.by_gradients is not EachParameter.by_gradients:
            return None
        kinds = [VALUES, *self.beside_C]
        places = [
            [of_kind[name] if name in of_kind else values_C[name].new_empty(0) for name in values_C]
            for of_kind in (values_C, *self.beside_C.values())
        ]
        numbers = [
            [kinds.index(into), -1, factor / divisor, kept]
            if of in (GRADIENT, WHOLE)
            else [kinds.index(into), kinds.index(of), factor, kept]
            for into, of, factor, kept in self.moves
        ]
        return CompiledStep((move,), places, numbers, any(of == WHOLE for _, of, _, _ in self.moves))


def move(
    places: list[list[Tensor]],
    lefts: list[Tensor],
    rights: list[Tensor],
    wholes: list[Tensor],
    numbers: list[list[float]],
) -> None:
    """Make all moves for each parameter."""
    for number in range(len(rights)):
        left, right = lefts[number], rights[number]
        if wholes[number].numel() > 0:
            torch.bmm(left, right, out=wholes[number])
            left, right = lefts[-1], wholes[number]
        for into, of, factor, kept in numbers:
            values_C = places[int(into)][number]
            if of >= 0.0:
                added_C = places[int(of)][number]
                if added_C.numel() > 0:
                    values_C.add_(added_C, alpha=factor)
            elif left.numel() > 0:
                values_C.baddbmm_(left, right, beta=kept, alpha=factor)
            elif right.numel() > 0:
                if kept != 1.0:
                    values_C.mul_(kept)
                values_C.add_(right, alpha=factor)
