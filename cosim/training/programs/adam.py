"""Adam: its steps, as torch.optim takes them.

Validation: tests/training/test_optimisers.py, against torch.optim.

Shape suffix: C clients of the cohort.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from typing_extensions import override

from cosim.training.programs.compiled import compiled
from cosim.training.programs.steps import CompiledStep, Gradient, Step, kept, side_by_side
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class AdamStep(Step):
    """Step along the mean gradient divided by the root of the mean squared gradient, as torch.optim.Adam.

    Clients that continue with their own moments may have taken different numbers of steps.

    Args:
        rate: Step size.
        beta1: Decay of the first moment.
        beta2: Decay of the second moment.
        epsilon: Number added to the root.
        decay: Weight decay, part of the gradient.
    """

    keeps = ("first", "second", "steps")

    def __init__(
        self,
        parameters_C: Weights,
        companions_C: Weights,
        cohort: Sequence[PendingUpdate],
        *,
        rate: float,
        beta1: float,
        beta2: float,
        epsilon: float,
        decay: float,
    ) -> None:
        some_C = next(iter(parameters_C.values()))
        count_C = some_C.new_zeros(len(some_C), dtype=torch.float64)
        beside_C = {
            "first": kept("first", parameters_C, cohort),
            "second": kept("second", parameters_C, cohort),
            "gradient": parameters_C,
            "way": parameters_C,
        }
        all_C = {}
        for kind, own_C in beside_C.items():
            all_C[kind], beside_C[kind] = side_by_side(own_C)
        taken_C = kept("steps", {"taken": count_C}, cohort)
        super().__init__(beside_C | {"all": all_C, "steps": taken_C})
        self._numbers = rate, beta1, beta2, epsilon, decay

    @override
    def by_gradients(self, values_C: Weights, gradients: Mapping[str, Gradient]) -> None:
        """Move all parameters, whose moments are side by side, so that each operation takes them all."""
        for name, gradient in gradients.items():
            gradient.into(self.beside_C["gradient"][name])
        compiled(along_moments)(self._places(values_C), [[*self._numbers, 1.0]])

    @override
    def compiled_step(self, values_C: Weights, divisor: float) -> CompiledStep | None:
        """None if a subclass moves parameters in another way."""
        if type(self).by_gradients is not AdamStep.by_gradients:
            return None
        numbers = [[*self._numbers, divisor]]
        return CompiledStep((along_moments, move), self._places(values_C), numbers, needs_wholes=True)

    def _places(self, values_C: Weights) -> list[list[Tensor]]:
        beside_C, names = self.beside_C, list(values_C)
        by_name = [[of[name] for name in names] for of in (values_C, beside_C["gradient"], beside_C["way"])]
        return [*by_name, [*beside_C["all"].values(), beside_C["steps"]["taken"]]]


def along_moments(places: list[list[Tensor]], numbers: list[list[float]]) -> None:
    """Move all parameters, once their mean gradients are in their places."""
    rate, beta1, beta2, epsilon, decay, _ = numbers[0]
    values_C, gradients_C, ways_C = places[0], places[1], places[2]
    first_C, second_C, gradient_C, way_C, taken_C = places[3]
    taken_C.add_(1.0)
    rate_C = (torch.reciprocal(1.0 - torch.pow(beta1, taken_C)) * rate).to(torch.float32)
    root_C = (1.0 - torch.pow(beta2, taken_C)).sqrt().to(torch.float32)
    if decay != 0.0:
        for number in range(len(values_C)):
            gradients_C[number].add_(values_C[number], alpha=decay)
    first_C.lerp_(gradient_C, 1.0 - beta1)
    second_C.mul_(beta2).addcmul_(gradient_C, gradient_C, value=1.0 - beta2)
    torch.sqrt(second_C, out=way_C).div_(root_C.unsqueeze(1)).add_(epsilon)
    torch.div(first_C, way_C, out=way_C).mul_(rate_C.unsqueeze(1))
    for number in range(len(values_C)):
        values_C[number].sub_(ways_C[number])


def move(
    places: list[list[Tensor]],
    lefts: list[Tensor],
    rights: list[Tensor],
    wholes: list[Tensor],
    numbers: list[list[float]],
) -> None:
    """Compute the mean gradients, and move all parameters along the moments."""
    for number in range(len(rights)):
        if wholes[number].numel() > 0:
            torch.bmm(lefts[number], rights[number], out=wholes[number])
            torch.div(wholes[number], numbers[0][-1], out=places[1][number])
        elif places[1][number].numel() > 0:
            torch.div(rights[number], numbers[0][-1], out=places[1][number])
    along_moments(places, numbers)
