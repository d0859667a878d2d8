"""Model codec: the port of what a model is on its way down to clients, and what of it arrives.

It sees each trained tensor of the model as it is, and keeps nothing: every receiver gets the same, whenever
it asks. Running statistics and other state arrive as they are, for 32 bits a value. The edge server of a
round goes on from what it has sent, so that it and its clients have one model; an asynchronous server goes on
from its own.

| kind | bits of d values | what arrives |
|---|---|---|
| BFloat16, Float16 | 16 d | every value, rounded (`cosim.codecs.half_precision`) |

Scope and limitations: changes since a client's last version, which need to know what it has, are not coded.
Models between cells and cloud, and updates, have the bits that `System.codec` says. Coding takes no time.
"""

from abc import ABC, abstractmethod
from typing import Any

from cosim.configuration import Ask, Port, part
from cosim.configuration.going_together import ONE_MODEL
from cosim.jobs.payload import Payload
from cosim.units import least_whole

Tensor = Any
"""A torch.Tensor; links know no torch."""


@part
class ModelCodec(Port, ABC):
    """What a model is on its way down."""

    asks = (Ask(ONE_MODEL, "changes models", "no model_codec", at="model_codec"),)

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of so many values."""

    @abstractmethod
    def received(self, values: Tensor) -> Tensor:
        """What arrives of a tensor, float32 and of the same shape; the tensor is not to be changed."""

    def payload(self, num_values: int) -> Payload:
        """A model of so many values, and what it is on the air, rounded up to whole bits."""
        return Payload(num_values, least_whole(self.bits(num_values)))
