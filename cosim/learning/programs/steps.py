"""Steps: what rules make of gradients, tensor by tensor, for all clients of a cohort.

A step is made when a cohort begins and goes with it. What it holds beside the weights, momentum for instance,
is stacked over the clients as the weights are, so that one torch operation moves all of them.

Programs give a gradient as such, or as the product that it is, which a step may add straight into the weights
(`Step.by_product`); either is the gradient of a sum, and `divisor` makes it that of the mean.

Shape suffix: C clients of the cohort.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import torch
from torch import Tensor

from cosim.configuration import Shortcuts, stand_for
from cosim.learning.graph.pending import PendingUpdate
from cosim.learning.network.weights import Weights

Begin = Callable[[Weights, Weights, Sequence[PendingUpdate]], "Step"]
"""Makes the step of a cohort from its parameters and its companions, by name, shape (clients, ...)."""


class Step(Shortcuts, ABC):
    """What a rule makes of gradients.

    Args:
        beside_C: Kind -> parameter -> what is held beside it, shape (clients, ...).

    Attributes:
        beside_C: The same, changed in place.
        keeps: Kinds that a client keeps, where its rule keeps a state.
    """

    shortcuts = stand_for(by_product=("by_gradient",))
    keeps: ClassVar[tuple[str, ...]] = ()

    def __init__(self, beside_C: dict[str, Weights]) -> None:
        self.beside_C = beside_C

    def begin(self) -> None:
        """Take note that the gradients of another step follow."""

    @abstractmethod
    def by_gradient(self, name: str, values_C: Tensor, gradient_C: Tensor, divisor: float = 1.0) -> None:
        """Move a parameter of all clients in place.

        Args:
            values_C: Shape (clients, ...).
            gradient_C: Of a sum; may be changed.
            divisor: What makes the sum a mean.
        """

    def by_product(
        self, name: str, values_C: Tensor, left_C: Tensor, right_C: Tensor, divisor: float
    ) -> None:
        """The same by a gradient that is left times right."""
        self.by_gradient(name, values_C, torch.bmm(left_C, right_C), divisor)

    def of_first(self, num_clients: int) -> Self:
        """The step of the first so many clients, in the same memory."""
        first = copy.copy(self)
        first.beside_C = {
            kind: {name: values_C[:num_clients] for name, values_C in of.items()}
            for kind, of in self.beside_C.items()
        }
        return first

    def end(self, parameters_C: Weights, cohort: Sequence[PendingUpdate]) -> Sequence[Weights]:
        """The state that each client leaves, after its last step; none, where the rule keeps none."""
        if not cohort[0].training.keeps_state:
            return ()
        return [
            {
                kept_name(kind, name): values_C[client].clone()
                for kind in self.keeps
                for name, values_C in self.beside_C[kind].items()
            }
            for client in range(len(cohort))
        ]


def kept_name(kind: str, parameter: str) -> str:
    """Name of what a client keeps beside a parameter."""
    return f"{kind} {parameter}"


def kept(kind: str, parameters_C: Weights, cohort: Sequence[PendingUpdate]) -> Weights:
    """What clients have kept beside their parameters, by parameter; zero where they have kept nothing."""
    states = [{} if update.state is None else update.state.settled for update in cohort]
    found_C = {name: torch.zeros_like(values_C) for name, values_C in parameters_C.items()}
    for client, state in enumerate(states):
        for name, values_C in found_C.items():
            if (own := state.get(kept_name(kind, name))) is not None:
                values_C[client] = own
    return found_C


class SgdStep(Step):
    """Against the gradient.

    Args:
        rate: Step size.
        decay: Weight decay.
        pull: Weight of half the squared distance to where the weights started.
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

    def by_gradient(self, name: str, values_C: Tensor, gradient_C: Tensor, divisor: float = 1.0) -> None:
        """Down, and towards zero and the start."""
        if self._kept != 1.0:
            values_C.mul_(self._kept)
        values_C.sub_(gradient_C, alpha=self._rate / divisor)
        self._pulled(name, values_C)

    def by_product(
        self, name: str, values_C: Tensor, left_C: Tensor, right_C: Tensor, divisor: float
    ) -> None:
        """Added within the product."""
        values_C.baddbmm_(left_C, right_C, beta=self._kept, alpha=-(self._rate / divisor))
        self._pulled(name, values_C)

    def _pulled(self, name: str, values_C: Tensor) -> None:
        if self._share:
            values_C.add_(self.beside_C["start"][name], alpha=self._share)


class MomentumStep(Step):
    """Along the running sum b <- momentum b + g, as torch.optim.SGD without dampening.

    Args:
        rate: Step size.
        momentum: Factor of the sum before.
        nesterov: Whether the step is g + momentum b in place of b.
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

    def by_gradient(self, name: str, values_C: Tensor, gradient_C: Tensor, divisor: float = 1.0) -> None:
        """Into the sum, and along it."""
        buffer_C = self.beside_C["momentum"][name].mul_(self._momentum)
        buffer_C.add_(gradient_C, alpha=1.0 / divisor)
        if self._decay:
            buffer_C.add_(values_C, alpha=self._decay)
        if self._nesterov:
            if self._decay:
                values_C.mul_(1.0 - self._rate * self._decay)
            values_C.sub_(gradient_C, alpha=self._rate / divisor)
            values_C.sub_(buffer_C, alpha=self._rate * self._momentum)
        else:
            values_C.sub_(buffer_C, alpha=self._rate)

    def by_product(
        self, name: str, values_C: Tensor, left_C: Tensor, right_C: Tensor, divisor: float
    ) -> None:
        """Added within the product, where the gradient is not needed for itself."""
        if self._nesterov:
            super().by_product(name, values_C, left_C, right_C, divisor)
            return
        buffer_C = self.beside_C["momentum"][name]
        buffer_C.baddbmm_(left_C, right_C, beta=self._momentum, alpha=1.0 / divisor)
        if self._decay:
            buffer_C.add_(values_C, alpha=self._decay)
        values_C.sub_(buffer_C, alpha=self._rate)


class AdamStep(Step):
    """Along the mean gradient over the root of the mean squared one, as torch.optim.Adam.

    Clients that go on with moments of their own may have taken different numbers of steps.

    Args:
        rate: Step size.
        beta1: Factor of the first moment before.
        beta2: Factor of the second.
        epsilon: Added to the root.
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

    def begin(self) -> None:
        """Correct the moments for the steps that they have begun with zero."""
        taken_C = self.beside_C["steps"]["taken"].add_(1.0)
        self._rate_C = (self._rate / (1.0 - self._beta1**taken_C)).float()
        self._root_C = (1.0 - self._beta2**taken_C).sqrt().float()

    def by_gradient(self, name: str, values_C: Tensor, gradient_C: Tensor, divisor: float = 1.0) -> None:
        """Into both moments, and along them."""
        if divisor != 1.0:
            gradient_C = gradient_C / divisor
        if self._decay:
            gradient_C = gradient_C.add(values_C, alpha=self._decay)
        first_C = self.beside_C["first"][name].lerp_(gradient_C, 1.0 - self._beta1)
        second_C = self.beside_C["second"][name].mul_(self._beta2)
        second_C.addcmul_(gradient_C, gradient_C, value=1.0 - self._beta2)
        of_clients = (-1, *[1] * (values_C.dim() - 1))
        root_C = second_C.sqrt().div_(self._root_C.view(of_clients)).add_(self._epsilon)
        values_C.sub_(torch.div(first_C, root_C, out=root_C).mul_(self._rate_C.view(of_clients)))
