"""Model codec: the port of those who say what a model is on its way down to clients, and what of it arrives.

It sees each trained tensor of the model as it is, and keeps nothing: every receiver gets the same, whenever
it comes. Running statistics and other state arrive as they are, for 32 bits a value. The edge server of a
round goes on from what it has sent, so that it and its clients have one model; an asynchronous server goes on
from its own.

| kind | bits of d values | what arrives |
|---|---|---|
| BFloat16Model, Float16Model | 16 d | every value, rounded (`cosim.learning.codecs.half_precision`) |

Scope and limitations: changes since a client's last version, which need to know what it has, are not coded.
Models between cells and cloud, and updates, have the bits that `System.codec` says. A small step may be lost
where the model is rounded anew in every round: bfloat16 keeps 8 significant bits, binary16 11.
"""

from abc import ABC, abstractmethod
from typing import Any

from cosim.configuration import Port, configuration
from cosim.links.payload import Payload
from cosim.units import least_whole

Tensor = Any
"""A torch.Tensor; links know no torch."""


@configuration
class ModelCodec(Port, ABC):
    """What a model is on its way down."""

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of so many values."""

    @abstractmethod
    def arrived(self, values: Tensor) -> Tensor:
        """What arrives of a tensor, float32 and of the same shape; the tensor is not to be changed."""

    def payload(self, num_values: int) -> Payload:
        """A model of so many values, and what it is on the air, rounded up to whole bits."""
        return Payload(num_values, least_whole(self.bits(num_values)))


@configuration
class BFloat16Model(ModelCodec):
    """Values of 16 bits: a sign, 8 bits of exponent, 7 of fraction."""

    def bits(self, num_values: float) -> float:
        """16 for each."""
        return num_values * 16.0

    def arrived(self, values: Tensor) -> Tensor:
        """Every value rounded."""
        return values.bfloat16().float()


@configuration
class Float16Model(ModelCodec):
    """Values of 16 bits: a sign, 5 bits of exponent, 10 of fraction. [IEEE 754, binary16]"""

    def bits(self, num_values: float) -> float:
        """16 for each."""
        return num_values * 16.0

    def arrived(self, values: Tensor) -> Tensor:
        """Every value rounded."""
        return values.half().float()
