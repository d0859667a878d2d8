"""Kept: the port of the number of values of a change that a sparse codec sends."""

from abc import ABC, abstractmethod

from typing_extensions import override

from cosim.configuration import Port, a_share, at_least, knob, part, positive
from cosim.units import least_whole


@part
class Kept(Port, ABC):
    """Number of values of a change that are sent."""

    @abstractmethod
    def num(self, num_values: float) -> int:
        """Number of the given values that are sent, from 1 to all of them."""


@part
class KeptShare(Kept):
    """A share of the values, rounded up.

    Attributes:
        share: Share of the values of an update. [no source]
    """

    share: float = knob(positive, a_share, default=0.01)

    @override
    def num(self, num_values: float) -> int:
        return least_whole(self.share * num_values)


@part
class KeptNumber(Kept):
    """A fixed number of values, or all of an update that has fewer.

    Attributes:
        num_values: Number of values of an update. [no source]
    """

    num_values: int = knob(at_least(1), default=100)

    @override
    def num(self, num_values: float) -> int:
        return min(self.num_values, least_whole(num_values))
