"""Half precision: every value of a change is rounded to 16 bits.

bfloat16 has float32's range and 8 significant bits (relative error up to 2^-8); IEEE's binary16 has 11
(2^-11), from 6.1e-5 to 65504: smaller values lose bits, below 3e-8 they are 0, and larger ones infinite.

Scope and limitations: the change is rounded, not the weights; to the nearest, ties to even, so with a bias.
"""

from typing import TYPE_CHECKING

from cosim.configuration import configuration
from cosim.learning.codecs.flat import FlatCodec

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@configuration
class BFloat16(FlatCodec):
    """Values of 16 bits: a sign, 8 bits of exponent, 7 of fraction."""

    def bits(self, num_values: float) -> float:
        """16 for each; no header."""
        return num_values * 16.0

    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        """Every value rounded."""
        return change_D.bfloat16().float()


@configuration
class Float16(FlatCodec):
    """Values of 16 bits: a sign, 5 bits of exponent, 10 of fraction. [IEEE 754, binary16]"""

    def bits(self, num_values: float) -> float:
        """16 for each; no header."""
        return num_values * 16.0

    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        """Every value rounded."""
        return change_D.half().float()
