"""Codec: the port of those who say what an update is on the air: its size, and what of it arrives.

A codec with a method `transmit` changes what arrives: a plain torch function of the change that a client's
training has made, tensor by tensor, before it is added to the start again
(`cosim.learning.transmission.SentView`)::

    @configuration
    class Signs(Codec):
        def bits(self, num_values):
            return num_values + 32.0

        def transmit(self, sent):
            import torch

            size = torch.cat([values.flatten() for values in sent.change.values()]).abs().mean()
            for values in sent.change.values():
                values.sign_().mul_(size)

A codec with `keeps_state = True` in its class gets what it returned at the client's last training as
`sent.state`, empty at first: what was left out, for the next time. As with a rule of local training it is
kept when the training has ended, also where the upload is lost.

Scope and limitations: coding takes no time. A download has the size that a codec gives it, and arrives as it
was sent. Running statistics are among the tensors.

Usage: `Uncompressed(bits_per_parameter=16).payload(1000).bits` is 16,000.
"""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from cosim.configuration import Port, at_least, configuration, field
from cosim.links.payload import Payload

if TYPE_CHECKING:
    from cosim.learning.network.weights import Weights
    from cosim.learning.transmission import SentView


@configuration
class Codec(Port, ABC):
    """What a model is on the air.

    Attributes:
        keeps_state: Whether what `transmit` returns is kept for the client's next update; a class says so.
    """

    keeps_state: ClassVar[bool] = False

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of so many values."""

    def transmit(self, sent: "SentView") -> "Weights | None":
        """Make of a change what arrives of it, in place; returns what the client keeps."""
        raise NotImplementedError

    @property
    def changes_values(self) -> bool:
        """Whether something else arrives than what was sent."""
        return type(self).transmit is not Codec.transmit

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
