"""Descents: the steps of SGD, of momentum and of Adam, as torch.optim takes them.

Validation: tests/training/test_optimisers.py, against torch.optim.

Shape suffix: C clients of the cohort.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from cosim.training.programs.steps import Gradient, Step, kept
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class SgdStep(Step):
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


class MomentumStep(Step):
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
        super().__init__(
            {
                "first": kept("first", parameters_C, cohort),
                "second": kept("second", parameters_C, cohort),
                "steps": kept("steps", {"taken": count_C}, cohort),
            }
        )
        self._rate, self._beta1, self._beta2, self._epsilon = rate, beta1, beta2, epsilon
        self._decay = decay

    @override
    def begin(self) -> None:
        """Correct the moments for the number of steps since they were zero."""
        taken_C = self.beside_C["steps"]["taken"].add_(1.0)
        self._rate_C = (self._rate / (1.0 - self._beta1**taken_C)).float()
        self._root_C = (1.0 - self._beta2**taken_C).sqrt().float()

    @override
    def by_gradient(self, name: str, values_C: Tensor, gradient: Gradient) -> None:
        gradient_C = gradient.values_C
        if self._decay:
            gradient_C = gradient_C.add(values_C, alpha=self._decay)
        first_C = self.beside_C["first"][name].lerp_(gradient_C, 1.0 - self._beta1)
        second_C = self.beside_C["second"][name].mul_(self._beta2)
        second_C.addcmul_(gradient_C, gradient_C, value=1.0 - self._beta2)
        of_clients = (-1, *[1] * (values_C.dim() - 1))
        root_C = second_C.sqrt().div_(self._root_C.view(of_clients)).add_(self._epsilon)
        values_C.sub_(torch.div(first_C, root_C, out=root_C).mul_(self._rate_C.view(of_clients)))
