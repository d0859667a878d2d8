"""Step: the port of the use of gradients, tensor by tensor, for all clients of a cohort.

A step is made when a cohort begins and is discarded with it. Its own tensors, momentum for instance, are
stacked over the clients as the weights are, so that one torch operation moves all of them.

Asked: `by_gradients`, or `by_gradient` of an `EachParameter`. Given: a `Gradient`, which may be a product
that is not computed yet; then it is added within the product.

Shape suffix: C clients of the cohort.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor
from typing_extensions import override

from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights

Begin = Callable[[Weights, Weights, Sequence[PendingUpdate]], "Step"]
"""Function that makes a cohort's step from its parameters and companions, by name, shape (clients, ...)."""


class Gradient:
    """A gradient of all clients.

    Args:
        total_C: Gradient of a sum over the batch, shape (clients, ...).
        divisor: Number that makes the sum a mean.
    """

    def __init__(self, total_C: Tensor, divisor: float = 1.0) -> None:
        self._total_C, self._divisor = total_C, divisor

    @property
    def values_C(self) -> Tensor:
        """Gradient of the mean, shape (clients, ...); not to be changed."""
        return self._total_C if self._divisor == 1.0 else self._total_C / self._divisor

    def whole(self) -> "Gradient":
        """The same gradient, multiplied out, for several additions in this step."""
        return self

    def into(self, place_C: Tensor) -> None:
        """Write the gradient of the mean to a place of the same shape."""
        torch.div(self._total_C, self._divisor, out=place_C)

    def add_to(self, values_C: Tensor, factor: float, kept: float = 1.0) -> None:
        """Replace the values by kept times values plus factor times the gradient."""
        if kept != 1.0:
            values_C.mul_(kept)
        values_C.add_(self._total_C, alpha=factor / self._divisor)


class Product(Gradient):
    """A gradient that is the product of two matrices for each client.

    Args:
        left_C: Left matrices, shape (clients, rows, batch).
        right_C: Right matrices, shape (clients, batch, columns).
        divisor: Number that makes the sum over the batch a mean.
    """

    def __init__(self, left_C: Tensor, right_C: Tensor, divisor: float) -> None:
        self._left_C, self._right_C, self._divisor = left_C, right_C, divisor
        self._whole: Gradient | None = None

    @property
    @override
    def values_C(self) -> Tensor:
        return self.whole().values_C

    @override
    def whole(self) -> Gradient:
        if self._whole is None:  # its memory serves all steps
            size = (*self._left_C.shape[:2], self._right_C.shape[2])
            self._total_C = self._left_C.new_empty(size)
            self._whole = Gradient(self._total_C, self._divisor)
        torch.bmm(self._left_C, self._right_C, out=self._total_C)
        return self._whole

    @override
    def into(self, place_C: Tensor) -> None:
        self.whole().into(place_C)

    @override
    def add_to(self, values_C: Tensor, factor: float, kept: float = 1.0) -> None:
        values_C.baddbmm_(self._left_C, self._right_C, beta=kept, alpha=factor / self._divisor)


class CompiledStep(NamedTuple):
    """Steps as a function for `compiled`.

    Attributes:
        functions: Functions to be compiled, the last of the name `move`: (places, lefts, rights, wholes,
            numbers). By parameter, the gradient of the sum is the product of left and right, or right where
            left is empty; `wholes` is memory for products, and one more left is empty.
        places: Tensors that it changes or adds.
        numbers: Numbers that it uses.
        needs_wholes: True if it multiplies products out; else `wholes` is empty tensors.
    """

    functions: tuple[Callable[..., None], ...]
    places: list[list[Tensor]]
    numbers: list[list[float]]
    needs_wholes: bool


class Step(ABC):
    """Use of gradients by a rule.

    Args:
        beside_C: Kind -> parameter -> tensors kept beside it, shape (clients, ...).

    Attributes:
        beside_C: The same, changed in place.
        keeps: Kinds that a client keeps, if its rule keeps a state.
    """

    keeps: ClassVar[tuple[str, ...]] = ()

    def __init__(self, beside_C: dict[str, Weights]) -> None:
        self.beside_C = beside_C

    @abstractmethod
    def by_gradients(self, values_C: Weights, gradients: Mapping[str, Gradient]) -> None:
        """Take the next step: move the parameters of all clients in place.

        Args:
            values_C: Parameter -> values, shape (clients, ...).
            gradients: Parameter -> gradient.
        """

    def compiled_step(self, values_C: Weights, divisor: float) -> "CompiledStep | None":
        """The same steps as a function of torch calls; None if there is none.

        Args:
            values_C: Parameter -> values, shape (clients, ...).
            divisor: Number that makes the gradient of a sum the gradient of the mean.
        """
        return None

    def of_first(self, num_clients: int) -> Self:
        """The step of the first `num_clients` clients, in the same memory."""
        first = copy.copy(self)
        first.beside_C = {
            kind: {name: values_C[:num_clients] for name, values_C in of.items()}
            for kind, of in self.beside_C.items()
        }
        return first

    def end(self, parameters_C: Weights, cohort: Sequence[PendingUpdate]) -> Sequence[Weights]:
        """State that each client keeps after its last step; empty if the rule keeps none."""
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


class EachParameter(Step):
    """Step that moves one parameter after the other."""

    @override
    def by_gradients(self, values_C: Weights, gradients: Mapping[str, Gradient]) -> None:
        for name, gradient in gradients.items():
            self.by_gradient(name, values_C[name], gradient)

    @abstractmethod
    def by_gradient(self, name: str, values_C: Tensor, gradient: Gradient) -> None:
        """Move a parameter of all clients in place.

        Args:
            values_C: Values of the parameter, shape (clients, ...).
            gradient: Gradient of the parameter.
        """


def kept_name(kind: str, parameter: str) -> str:
    """Name of a kind of state beside a parameter."""
    return f"{kind} {parameter}"


def kept(kind: str, parameters_C: Weights, cohort: Sequence[PendingUpdate]) -> Weights:
    """Tensors that clients have kept beside their parameters, by parameter; zero for clients without any."""
    states = [{} if update.state is None else update.state.settled for update in cohort]
    found_C = {name: torch.zeros_like(values_C) for name, values_C in parameters_C.items()}
    for client, state in enumerate(states):
        for name, values_C in found_C.items():
            if (own := state.get(kept_name(kind, name))) is not None:
                values_C[client] = own
    return found_C


def side_by_side(tensors_C: Weights) -> tuple[Tensor, Weights]:
    """Copies of tensors in one, shape (clients, values), and the parts of it by name."""
    sizes = {name: values_C.shape for name, values_C in tensors_C.items()}
    all_C = torch.cat([values_C.flatten(1) for values_C in tensors_C.values()], 1)
    parts_C = all_C.split([math.prod(size[1:]) for size in sizes.values()], 1)
    return all_C, {n: of.unflatten(1, sizes[n][1:] or (1,)) for n, of in zip(sizes, parts_C, strict=True)}
