"""QSGD: values as random multiples of a bucket's norm, so that their mean is the change.

The row is cut into buckets v of at most `bucket_size` values. With s levels and a = s |v_i| / ||v|| a value
becomes sign(v_i) ||v|| l / s, where l is the whole number below a, or, with probability a - floor(a), the one
above. So E Q(v) = v, and E ||Q(v) - v||^2 <= min(n / s^2, sqrt(n) / s) ||v||^2 for n values in a bucket.

On the air a bucket consists of its norm, 32 bits, and, for each value, one of the 2 s + 1 whole numbers from
-s to s: 32 + n ceil(log2(2 s + 1)) bits, without entropy coding, so that the size is known beforehand.

Scope and limitations: the paper's Elias coding, whose length depends on the values, is left out. Norm and
products are float32.

Source: Alistarh, Grubic, Li, Tomioka, Vojnovic, "QSGD", NeurIPS 2017, arXiv 1610.02132, Section 3.1, Lemma
3.1; buckets: Section 4.
"""

import math
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.codecs.flat import FlatCodec
from cosim.codecs.port import FLOAT_BITS
from cosim.configuration import at_least, knob, part
from cosim.units import least_whole

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@part
class Qsgd(FlatCodec):
    """Unbiased random rounding to levels of a bucket's norm.

    Attributes:
        num_levels: Levels s above 0; 7 levels take 4 bits a value. [no source]
        bucket_size: Values that share a norm. [no source]
    """

    num_levels: int = knob(at_least(1), default=7)
    bucket_size: int = knob(at_least(1), default=512)

    @override
    def bits(self, num_values: float) -> float:
        value_bits = (2 * self.num_levels).bit_length()
        return FLOAT_BITS * least_whole(num_values / self.bucket_size) + num_values * value_bits

    @override
    def relative_variance(self, num_values: int) -> float:
        """Variance by Lemma 3.1, for the largest bucket."""
        largest = min(num_values, self.bucket_size)
        return min(largest / self.num_levels**2, math.sqrt(largest) / self.num_levels)

    @override
    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        import torch
        from torch.nn.functional import pad

        num_missing = -len(change_D) % self.bucket_size if len(change_D) > self.bucket_size else 0
        change_BV = pad(change_D, (0, num_missing)).view(-1, min(self.bucket_size, len(change_D)))
        norm_B1 = change_BV.norm(dim=1, keepdim=True)
        scaled_BV = change_BV.abs() * (self.num_levels / norm_B1)
        draws_BV = torch.rand(change_BV.shape, generator=generator).to(change_D.device)
        level_BV = scaled_BV.floor() + (draws_BV < scaled_BV.frac())
        level_BV = level_BV.clamp(max=self.num_levels)  # if the norm was rounded down
        found_BV = norm_B1 * (change_BV.sign() * level_BV / self.num_levels)
        return torch.where(norm_B1 == 0.0, 0.0, found_BV).flatten()[: len(change_D)]
