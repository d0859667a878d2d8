"""Flat codec: the base of codecs that take a client's change as one row of values.

The row has the tensors of a model one after the other, in the network's order, each rows first; of a part of
a network it has the part's values. So one scale, or one choice of values, is that of the whole change.

Scope and limitations: not over the air, where analog values add up and bits do not exist. Coding costs the
client `cycles_per_value` for each value, after its training and at the training's power.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from cosim.configuration import configuration, field, not_negative, refuse
from cosim.learning.codecs.codec import Codec

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from cosim.learning.codecs.transmission import SentView


@configuration
class FlatCodec(Codec, ABC):
    """A codec of a row of values.

    Attributes:
        cycles_per_value: Cycles that coding a value costs the client's processor; 0: none. [no source]
    """

    cycles_per_value: float = field(not_negative, default=0.0)

    @abstractmethod
    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        """What arrives of a change.

        Args:
            change_D: All its values, float32, shape (values,); not to be changed.
            generator: The source of what is drawn; it follows from the update's key.
        """

    def fit(self, system: Any) -> None:
        """Refuse sums over the air, and plans that would not know of coding."""
        refuse_sums(self, system)
        if self.cycles_per_value and system.protocol.plans_times:
            rule = f"{type(system.protocol).__name__} plans how long jobs take, and no plan knows of coding"
            raise refuse(type(self), "cycles_per_value", self.cycles_per_value, rule, "0")

    def cycles(self, num_values: int) -> float:
        """As many for each value of the change."""
        return num_values * self.cycles_per_value

    def transmit(self, sent: "SentView") -> None:
        """Code the change as one row."""
        import torch

        tensors = list(sent.change.values())
        change_D = torch.cat([values.flatten() for values in tensors])
        arrived = self.arrived(change_D, sent.generator).split([values.numel() for values in tensors])
        for values, found in zip(tensors, arrived, strict=True):
            values.copy_(found.view_as(values))


def refuse_sums(codec: Codec, system: Any) -> None:
    """Refuse a link on which updates add up in the air.

    Raises:
        ConfigurationError: It is one.
    """
    if system.uplink.adds_up:
        kind = type(codec).__name__
        rule = f"{kind} makes bits of an update, and over the air analog values add up"
        raise refuse("System", "codec", kind, rule, "Uncompressed, or sharing = FixedShares")
