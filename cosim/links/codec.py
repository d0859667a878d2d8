"""Codec: the port of those who say what a model is on the air.

Scope and limitations: only its size; what arrives is what was sent.

Usage: `Uncompressed(bits_per_parameter=16).payload(1000).bits` is 16,000.
"""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from cosim.configuration import Port, at_least, configuration, field


class Payload(NamedTuple):
    """What an upload or a download carries.

    Attributes:
        num_values: Numbers of the model, or beside it; a planner may ask for a part of one.
        bits: What they are on the air; a whole number, unless a planner asks.
    """

    num_values: float
    bits: float


@configuration
class Codec(Port, ABC):
    """What a model is on the air."""

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of so many values."""

    def payload(self, num_values: int) -> Payload:
        """So many values, and what they are on the air, rounded up to whole bits."""
        return Payload(num_values, math.ceil(self.bits(num_values)))


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
