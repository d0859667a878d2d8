"""Uncompressed: every value of an update in a fixed number of bits."""

from typing_extensions import override

from cosim.codecs.port import Codec
from cosim.configuration import at_least, knob, part


@part
class Uncompressed(Codec):
    """Fixed number of bits for every value.

    Attributes:
        bits_per_parameter: Bits of a value; fewer shorten the upload, and learning stays in float32. [HIST
            journal, Section VI-B: a network of 0.91 MB; 32 is inferred]
    """

    bits_per_parameter: int = knob(at_least(1), default=32)

    @override
    def bits(self, num_values: float) -> float:
        return num_values * self.bits_per_parameter
