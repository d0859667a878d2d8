"""Floating-point operations and activations of training, as torch counts them on tensors without values.

A forward pass that looks at values gets the network's own.

Scope and limitations: matrix products and convolutions, each multiplication and each addition once;
normalisation, activations and pooling are left out. A product that no gradient needs (with respect to the
samples) is not counted, as it is not computed. The clients' part of a network in two parts takes outputs of
the server's part, whose gradient is needed, and local features as one tensor, so torch computes both.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.utils.flop_counter import FlopCounterMode

from cosim.data.dataset import Dataset
from cosim.own_code.unchanged import kept_modes
from cosim.values.submodels import LOCAL, NetworkShape, Part, Shapes
from cosim.values.weights import lacks_values, tensors_of

T = TypeVar("T")

logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # its errors are raised, too


class TrainingFlops:
    """Operations of a local step of a network for one sample, each count made once.

    Args:
        network: With values or without.
        shape: Its shape.
        dataset: Of which only the look of a test sample matters.
    """

    def __init__(self, network: nn.Module, shape: NetworkShape, dataset: Dataset) -> None:
        self._network, self._shape = network, shape
        self._x_1D = dataset.test_x[:1]
        self._num_local_features = dataset.num_features - dataset.num_global_features
        self._known: dict[tuple[tuple[int, ...], ...], int] = {}
        self._known_local: int | None = None
        self._known_bits: dict[tuple[tuple[int, ...], ...], int] = {}

    def of(self, part: Part | None = None) -> int:
        """Operations of matrix products and convolutions, forwards and back, for one sample.

        What torch counts for a network of the part's width, or for the whole one (None); frozen layers,
        through which gradients pass, included.
        """
        shapes = self._shape.tensors if part is None else self._shape.cut(part)
        sizes = tuple(shapes.values())
        if sizes not in self._known:
            self._known[sizes] = training_flops(self._network, shapes, self._x_1D)
        return self._known[sizes]

    def of_clients_part(self) -> int:
        """The same for the clients' part of a network in two parts; the whole one where it has no such part.

        Its inputs are outputs of the server's part and local features, side by side. Clients report the
        gradient with respect to the former, and torch computes it for all inputs alike.
        """
        if not self._shape.num_central_outputs:
            return self.of()
        if self._known_local is None:
            self._known_local = training_flops(*self._clients_part(), wants_input_gradient=True)
        return self._known_local

    def activation_bits(self, part: Part | None = None) -> int:
        """Bits that training holds for the backward pass of one sample, of a part or of the whole (None)."""
        shapes = self._shape.tensors if part is None else self._shape.cut(part)
        sizes = tuple(shapes.values())
        if sizes not in self._known_bits:
            self._known_bits[sizes] = activation_bits(self._network, shapes, self._x_1D)
        return self._known_bits[sizes]

    def activation_bits_of_clients_part(self) -> int:
        """The same for the clients' part of a network in two parts, or for the whole one."""
        if not self._shape.num_central_outputs:
            return self.activation_bits()
        return activation_bits(*self._clients_part())

    def _clients_part(self) -> tuple[nn.Module, Shapes, NDArray[Any]]:
        """The clients' part, its tensors' shapes and a sample of it."""
        local = self._network.get_submodule(LOCAL.removesuffix("."))
        num_inputs = self._shape.num_central_outputs + self._num_local_features
        tensors = self._shape.tensors.items()
        shapes = {name.removeprefix(LOCAL): size for name, size in tensors if name.startswith(LOCAL)}
        return local, shapes, np.empty((1, num_inputs), dtype=self._x_1D.dtype)


def training_flops(
    network: nn.Module, shapes: Shapes, x_BD: NDArray[Any], wants_input_gradient: bool = False
) -> int:
    """Operations of one forward and one backward pass.

    Args:
        network: Its forward pass.
        shapes: Tensor name -> shape, of the whole network or of a part.
        x_BD: Samples; their values do not matter.
        wants_input_gradient: The backward pass goes on to the gradient with respect to the samples.
    """

    def counted(with_values: bool) -> int:
        with torch.enable_grad(), FlopCounterMode(display=False) as counter:
            tensors, samples = _tensors(network, shapes, with_values), _samples(x_BD)
            samples.requires_grad_(wants_input_gradient)
            outputs = functional_call(network, tensors, (samples.clone(),))  # its hooks take no leaf
            wanted = [of for of in (samples, *(tensors[name] for name in shapes)) if of.requires_grad]
            torch.autograd.grad(outputs.sum(), wanted, allow_unused=True)
        return counter.get_total_flops()

    return _of_network(network, counted)


def activation_bits(network: nn.Module, shapes: Shapes, x_BD: NDArray[Any]) -> int:
    """Bits that a forward pass leaves for the backward one: the samples, and what torch saves of them.

    Args:
        network: Its forward pass.
        shapes: Tensor name -> shape, of the whole network or of a part.
        x_BD: Samples; their values do not matter.
    """

    def counted(with_values: bool) -> int:
        bits_of: dict[int, int] = {}
        kept = []  # so that no other takes the place of one that is counted

        def note(values: torch.Tensor) -> None:
            storage = values.untyped_storage()
            kept.append(storage)
            bits_of[storage._cdata] = 8 * storage.nbytes()

        def saved(values: torch.Tensor) -> torch.Tensor:
            note(values)
            return values

        with torch.enable_grad():
            tensors, samples = _tensors(network, shapes, with_values), _samples(x_BD)
            note(samples)
            with torch.autograd.graph.saved_tensors_hooks(saved, lambda values: values):
                outputs = functional_call(network, tensors, (samples,))
            note(outputs)
        for values in tensors.values():
            bits_of.pop(values.untyped_storage()._cdata, None)
        return sum(bits_of.values())

    return _of_network(network, counted)


def outputs_without_values(network: nn.Module, x_BD: NDArray[Any]) -> Any:
    """A network's outputs, of which nothing is computed: tensors have a shape and a type.

    Args:
        network: Its forward pass.
        x_BD: Samples; their values do not matter.
    """

    def found(with_values: bool) -> Any:
        with torch.no_grad():
            return functional_call(network, _tensors(network, {}, with_values), (_samples(x_BD),))

    return _of_network(network, found)


def _of_network(network: nn.Module, found: Callable[[bool], T]) -> T:
    """Result of a function of a network in evaluation mode.

    Args:
        found: Told whether tensors have values, which they do where a forward pass looks at them.
    """
    with kept_modes(network):
        network.eval()
        try:
            with FakeTensorMode(allow_non_fake_inputs=True):  # transformers asks meta ones for values
                return found(False)
        except Exception:  # of any kind: the pass is the user's own
            if lacks_values(network):
                raise
        return found(True)


def _samples(x_BD: NDArray[Any]) -> torch.Tensor:
    return torch.zeros(x_BD.shape, dtype=torch.tensor(x_BD).dtype)


def _tensors(network: nn.Module, shapes: Shapes, with_values: bool) -> dict[str, torch.Tensor]:
    """Tensors for all of a network's, in its own shapes or in others."""
    made = {}
    for name, values in tensors_of(network).items():
        size = shapes.get(name, tuple(values.shape))
        is_own = with_values and size == values.shape
        made[name] = values.detach().clone() if is_own else torch.zeros(size, dtype=values.dtype)
        made[name].requires_grad_(values.requires_grad)
    return made
