"""Flat codec: the base of codecs that make bits of a client's change as one row of values.

The row has the tensors of a model one after the other, in the network's order; of a part of a network it has
the part's values. So one scale, or one choice of values, is that of the whole change (`Codec.arrived`).

Scope and limitations: not over the air, where analog values add up and bits do not exist. Coding costs the
client `cycles_per_value` for each value, after its training and at the training's power.
"""

from typing import Any

from cosim.configuration import configuration, field, not_negative, refuse
from cosim.learning.codecs.codec import Codec


@configuration
class FlatCodec(Codec):
    """A codec of a row of values.

    Attributes:
        cycles_per_value: Cycles that coding a value costs the client's processor; 0: none. [no source]
    """

    cycles_per_value: float = field(not_negative, default=0.0)

    def fit(self, system: Any) -> None:
        """Refuse sums over the air, and plans that would not know of coding."""
        refuse_sums(self, system)
        if self.cycles_per_value and system.protocol.plans_times:
            rule = f"{type(system.protocol).__name__} plans how long jobs take, and no plan knows of coding"
            raise refuse(type(self), "cycles_per_value", self.cycles_per_value, rule, "0")

    def cycles(self, num_values: int) -> float:
        """As many for each value of the change."""
        return num_values * self.cycles_per_value


def refuse_sums(codec: Codec, system: Any) -> None:
    """Refuse a link on which updates add up in the air.

    Raises:
        ConfigurationError: It is one.
    """
    if system.uplink.adds_up:
        kind = type(codec).__name__
        rule = f"{kind} makes bits of an update, and over the air analog values add up"
        raise refuse("System", "codec", kind, rule, "Uncompressed, or sharing = FixedShares")
