"""Flat codec: the base of codecs that code a client's change as one row of values.

The row has the tensors of a model one after the other, in the network's order; for a part of a network, it
has the part's values. So one scale, or one choice of values, holds for the whole change (`Codec.arrived`).

Scope and limitations: not for sums over the air, where analog values add up and bits do not exist. Coding
costs the client `cycles_per_value` for each value, after its training and at the training's power.
"""

from typing_extensions import override

from cosim.codecs.port import BITS_ASKED, Codec
from cosim.configuration import Lack, knob, not_negative, part
from cosim.configuration.going_together import FREE_CODING


@part
class FlatCodec(Codec):
    """Codec of a row of values.

    Attributes:
        cycles_per_value: Cycles that coding a value costs the client's processor; 0 means none. [no source]
    """

    lacks = (Lack(FREE_CODING, "cycles_per_value above 0", lambda own: own.cycles_per_value > 0.0),)
    asks = (BITS_ASKED,)

    cycles_per_value: float = knob(not_negative, default=0.0)

    @override
    def cycles(self, num_values: int) -> float:
        return num_values * self.cycles_per_value
