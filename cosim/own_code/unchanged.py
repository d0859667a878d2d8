"""Unchanged: what own code leaves as it was, and whether it has."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor


@contextmanager
def kept_modes(network: nn.Module) -> Iterator[None]:
    """Every layer of a network is in training or evaluation mode afterwards as it was before."""
    modes = [(layer, layer.training) for layer in network.modules()]
    try:
        yield
    finally:
        for layer, training in modes:
            layer.training = training


def differ(values: Tensor, others: Tensor) -> bool:
    """True if values differ, where they can be compared; nan equals nan."""
    if values.shape != others.shape:
        return True
    if values.layout != torch.strided or values.is_meta or isinstance(values, FakeTensor):
        return False
    return bool(((values != others) & ((values == values) | (others == others))).any())


def place(values: Tensor) -> int:
    """By what the memory of a tensor is known again while it lives."""
    try:
        return values.untyped_storage()._cdata
    except NotImplementedError:  # sparse ones have none of their own
        return id(values)
