"""Codec: the port of those who say what an upload is on the air.

Scope and limitations: only its size; what arrives is what was learned.

Usage: `Uncompressed(bits_per_parameter=16).payload(1000).bits` is 16,000.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

from cosim.configuration import Port, at_least, configuration, field


class Payload(NamedTuple):
    """What an upload carries.

    Attributes:
        num_values: Numbers of the model, or beside it; a planner may ask for a part of one.
        bits: What they are on the air.
    """

    num_values: float
    bits: float


@configuration
class Codec(Port, ABC):
    """What an upload is on the air."""

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of so many values; a whole number of them where the values are."""

    def payload(self, num_values: float) -> Payload:
        """So many values, and what they are on the air."""
        return Payload(num_values, self.bits(num_values))


@configuration
class Uncompressed(Codec):
    """Every value by itself.

    Attributes:
        bits_per_parameter: Bits of a value; fewer shorten the upload, and learning stays in float32. [HIST
            journal, Section VI-B: 0.91 MB for 238,200 parameters]
    """

    bits_per_parameter: int = field(at_least(1), default=32)

    def bits(self, num_values: float) -> float:
        """As many for each."""
        return num_values * self.bits_per_parameter
