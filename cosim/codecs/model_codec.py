"""Model codec: the port of a model's size on its way down to clients, and of what arrives.

It sees each trained tensor of the model and keeps nothing: every receiver gets the same, at any time. Running
statistics and other state arrive unchanged, at 32 bits a value. The edge server of a round continues from the
model that it has sent, so that it and its clients have one model; an asynchronous server continues from its
own.

| kind | bits of d values | what arrives |
|---|---|---|
| BFloat16, Float16 | 16 d | every value, rounded (`cosim.codecs.half_precision`) |

Scope and limitations: changes since a client's last version are not coded: that would need to know which
version the client has. Models between cells and cloud, and updates, have the bits that `System.codec` gives.
Coding takes no time.
"""

from abc import ABC, abstractmethod
from typing import Any

from cosim.configuration import Ask, Port, part
from cosim.configuration.going_together import ONE_MODEL
from cosim.jobs.payload import Payload
from cosim.units import least_whole

Tensor = Any
"""Any torch.Tensor; links know no torch."""


@part
class ModelCodec(Port, ABC):
    """Codec of a model on its way down."""

    asks = (Ask(ONE_MODEL, "changes models", "no model_codec", at="model_codec"),)

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of a number of values."""

    @abstractmethod
    def received(self, values: Tensor) -> Tensor:
        """Values that arrive of a tensor, float32 and of the same shape; the tensor must not be changed."""

    def payload(self, num_values: int) -> Payload:
        """Payload of a model with a number of values, rounded up to whole bits."""
        return Payload(num_values, least_whole(self.bits(num_values)))
