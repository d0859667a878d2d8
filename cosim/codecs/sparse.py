"""Sparse: k of the d values of a change; the others stay where they were.

TopK sends the k values of largest magnitude over the whole change, and their places: by k indices of
ceil(log2 d) bits each or by a bitmap of d bits, whichever is smaller (both sides know it from k and d); no
places if all are sent. Together 32 k + min(k ceil(log2 d), d) bits.

RandomK draws k of the d values, each set equally likely, and sends them times d / k with the 32-bit seed of
the draw: 32 k + 32 bits. Each value is sent with probability k / d, so the mean of what arrives is the
change: (k / d) (d / k) x = x; and the mean of its squared distance is (d / k - 1) ||x||^2, for of a value x_i
it is (k / d) (d / k)^2 x_i^2 - x_i^2.

Scope and limitations: TopK is biased and loses what it leaves out, unless in `ErrorFeedback`. Of values of
the same magnitude torch.topk decides.

Source: Stich, Cordonnier, Jaggi, "Sparsified SGD with Memory", NeurIPS 2018, arXiv 1809.07599, Definition
2.1; scaling: derived above.
"""

from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.codecs.flat import FlatCodec
from cosim.codecs.kept import Kept, KeptShare
from cosim.codecs.port import FLOAT_BITS
from cosim.configuration import part
from cosim.units import least_whole

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SEED_BITS = 32
"""Bits of the seed from which both sides know which values were drawn."""


@part
class TopK(FlatCodec):
    """The values of largest magnitude.

    Attributes:
        kept: Number of values that are sent.
    """

    kept: Kept = KeptShare()

    @override
    def bits(self, num_values: float) -> float:
        num_kept, num_values = self.kept.num(num_values), least_whole(num_values)
        index_bits = (num_values - 1).bit_length()
        which_bits = min(num_kept * index_bits, num_values) if num_kept < num_values else 0
        return FLOAT_BITS * num_kept + which_bits

    @override
    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        places = change_D.abs().topk(self.kept.num(len(change_D)), sorted=False).indices
        return change_D.new_zeros(len(change_D)).index_copy_(0, places, change_D[places])


@part
class RandomK(FlatCodec):
    """Values drawn at random, scaled so that their mean is the change.

    Attributes:
        kept: Number of values that are sent.
    """

    kept: Kept = KeptShare()

    @override
    def bits(self, num_values: float) -> float:
        return FLOAT_BITS * self.kept.num(num_values) + SEED_BITS

    @override
    def relative_variance(self, num_values: int) -> float:
        """Variance of exactly d / k - 1."""
        return num_values / self.kept.num(num_values) - 1.0

    @override
    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        import torch

        seed = int(torch.randint(2**SEED_BITS, (), generator=generator))
        places = drawn_places(seed, len(change_D), self.kept.num(len(change_D))).to(change_D.device)
        values = change_D[places] * (len(change_D) / len(places))
        return change_D.new_zeros(len(change_D)).index_copy_(0, places, values)


def drawn_places(seed: int, num_values: int, num_kept: int) -> "Tensor":
    """Places of the values that a seed draws, shape (kept,)."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(num_values, generator=generator)[:num_kept]
