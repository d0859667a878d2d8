"""Half precision: every value of a change, or of a model on its way down, is rounded to 16 bits.

bfloat16 has float32's range and 8 significant bits (relative error up to 2^-8); IEEE's binary16 has 11
(2^-11), from 6.1e-5 to 65504: smaller values lose bits and are 0 below 3e-8; larger values become infinite.

Scope and limitations: rounding is to the nearest, ties to even, so it is biased. In an update the change is
rounded, not the weights. A small step may be lost if the model is rounded in every round.

Usage::

    System(codec=BFloat16(), model_codec=BFloat16())
"""

from abc import ABC
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from cosim.codecs.flat import FlatCodec
from cosim.codecs.model_codec import ModelCodec
from cosim.configuration import part, refuse

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@part
class HalfPrecision(FlatCodec, ModelCodec, ABC):
    """Base of 16-bit values, for updates and for models."""

    asks = (*FlatCodec.asks, *ModelCodec.asks)

    @override
    def fit(self, system: Any) -> None:
        """Refuse cycles in a codec of models: servers do not count them."""
        if system.model_codec is self and self.cycles_per_value:
            rule = "has no effect in System.model_codec: the work of servers is not counted"
            raise refuse(type(self), "cycles_per_value", self.cycles_per_value, rule, "Use 0.")

    @override
    def bits(self, num_values: float) -> float:
        """16 bits for each value; no header."""
        return num_values * 16.0

    @override
    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        return self.received(change_D)


@part
class BFloat16(HalfPrecision):
    """Values of 16 bits: a sign, 8 bits of exponent, 7 of fraction."""

    @override
    def received(self, values: "Tensor") -> "Tensor":
        return values.bfloat16().float()


@part
class Float16(HalfPrecision):
    """Values of 16 bits: a sign, 5 bits of exponent, 10 of fraction. [IEEE 754, binary16]"""

    @override
    def received(self, values: "Tensor") -> "Tensor":
        return values.half().float()
