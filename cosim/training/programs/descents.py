"""Descents: the steps of SGD, of momentum and of Adam, as torch.optim takes them.

Validation: tests/training/test_optimisers.py, against torch.optim.

Shape suffix: C clients of the cohort.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from typing_extensions import override

from cosim.training.programs.steps import EachParameter, Gradient, Step, kept, side_by_side
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class SgdStep(EachParameter):
    """Step against the gradient.

    Args:
        rate: Step size.
        decay: Weight decay.
        pull: Weight of half the squared distance from where the weights started.
    """

    def __init__(
        self,
        parameters_C: Weights,
        companions_C: Weights,
        cohort: Sequence[PendingUpdate],
        *,
        rate: float,
        decay: float = 0.0,
        pull: float = 0.0,
    ) -> None:
        starts_C = {name: values_C.clone() for name, values_C in parameters_C.items()} if pull else {}
        super().__init__({"start": starts_C})
        self._rate, self._share = rate, rate * pull
        self._kept = 1.0 - self._share - rate * decay

    @override
    def by_gradient(self, name: str, values_C: Tensor, gradient: Gradient) -> None:
        gradient.add_to(values_C, -self._rate, self._kept)
        if self._share:
            values_C.add_(self.beside_C["start"][name], alpha=self._share)


class MomentumStep(EachParameter):
    """Step along the running sum b <- momentum b + g, as torch.optim.SGD without dampening.

    Args:
        rate: Step size.
        momentum: Factor of the sum before.
        nesterov: True if the step is g + momentum b in place of b.
        decay: Weight decay, part of g.
    """

    keeps = ("momentum",)

    def __init__(
        self,
        parameters_C: Weights,
        companions_C: Weights,
        cohort: Sequence[PendingUpdate],
        *,
        rate: float,
        momentum: float,
        nesterov: bool,
        decay: float,
    ) -> None:
        super().__init__({"momentum": kept("momentum", parameters_C, cohort)})
        self._rate, self._momentum, self._nesterov, self._decay = rate, momentum, nesterov, decay

    @override
    def by_gradient(self, name: str, values_C: Tensor, gradient: Gradient) -> None:
        if self._nesterov:
            gradient = gradient.whole()
        buffer_C = self.beside_C["momentum"][name]
        gradient.add_to(buffer_C, 1.0, self._momentum)
        if self._decay:
            buffer_C.add_(values_C, alpha=self._decay)
        if self._nesterov:
            gradient.add_to(values_C, -self._rate, 1.0 - self._rate * self._decay)
            values_C.sub_(buffer_C, alpha=self._rate * self._momentum)
        else:
            values_C.sub_(buffer_C, alpha=self._rate)


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
        self._rate, self._beta1, self._beta2, self._epsilon = rate, beta1, beta2, epsilon
        self._decay = decay

    @override
    def by_gradients(self, values_C: Weights, gradients: Mapping[str, Gradient]) -> None:
        """Move all parameters, whose moments are side by side, so that each operation takes them all."""
        taken_C = self.beside_C["steps"]["taken"].add_(1.0)
        rate_C = (self._rate / (1.0 - self._beta1**taken_C)).float()
        root_C = (1.0 - self._beta2**taken_C).sqrt().float()
        for name, gradient in gradients.items():
            gradient.into(self.beside_C["gradient"][name])
            if self._decay:
                self.beside_C["gradient"][name].add_(values_C[name], alpha=self._decay)
        first_C, second_C, gradient_C, way_C = self.beside_C["all"].values()
        first_C.lerp_(gradient_C, 1.0 - self._beta1)
        second_C.mul_(self._beta2).addcmul_(gradient_C, gradient_C, value=1.0 - self._beta2)
        torch.sqrt(second_C, out=way_C).div_(root_C[:, None]).add_(self._epsilon)
        torch.div(first_C, way_C, out=way_C).mul_(rate_C[:, None])
        for name, of_parameter_C in values_C.items():
            of_parameter_C.sub_(self.beside_C["way"][name])
