"""Activations: what a forward pass without gradients holds at a time.

The tensors that operations make are counted while they live, in a pass of one sample. Memory that operations
take inside, as some convolutions do, is not seen; what does not depend on the number of samples counts as if
it did.

Source: none; a count of what is stored. Validation: tests/networks/test_slices.py.
"""

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils._pytree import tree_leaves
from typing_extensions import override

from cosim.own_code.each_operation import EachOperation
from cosim.values.weights import own_copy


class _Counted(EachOperation):
    """Counts the bytes of the tensors that are made.

    Args:
        held: Tensors that are there already, and do not count.

    Attributes:
        most_bytes: Bytes of activations that lived at the same time, at most.
    """

    def __init__(self, held: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self.most_bytes = self._num_bytes = 0
        self._living = {values.untyped_storage()._cdata for values in held if _has_storage(values)}

    @override
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor) and _has_storage(leaf):
                self._note(leaf.untyped_storage())
        return made

    def _note(self, storage: torch.UntypedStorage) -> None:
        place, num_bytes = storage._cdata, storage.nbytes()
        if place not in self._living:
            self._living.add(place)
            self._num_bytes += num_bytes
            self.most_bytes = max(self.most_bytes, self._num_bytes)
            weakref.finalize(storage, self._freed, place, num_bytes)

    def _freed(self, place: int, num_bytes: int) -> None:
        self._living.discard(place)
        self._num_bytes -= num_bytes


def _has_storage(values: torch.Tensor) -> bool:
    return values.layout == torch.strided  # sparse ones have none of their own


def forward_bytes(network: nn.Module, x_1D: NDArray[Any]) -> int:
    """Bytes that a forward pass in evaluation mode holds at most at a time, the sample included.

    Args:
        network: A copy of it makes the pass.
        x_1D: One sample, shape (1, ...).
    """
    own, sample = own_copy(network).to("cpu").eval(), torch.tensor(x_1D)
    with torch.no_grad(), _Counted([sample, *own.parameters(), *own.buffers()]) as counted:
        own(sample)
    return sample.nbytes + counted.most_bytes
