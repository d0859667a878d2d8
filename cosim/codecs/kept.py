"""Kept: the port of how many values of a change a sparse codec sends."""

from abc import ABC, abstractmethod

from typing_extensions import override

from cosim.configuration import Port, at_least, between, knob, part, positive
from cosim.units import least_whole


@part
class Kept(Port, ABC):
    """How many values of a change are sent."""

    @abstractmethod
    def num(self, num_values: float) -> int:
        """Of so many; from 1 to as many."""


@part
class KeptShare(Kept):
    """A share of the values, rounded up.

    Attributes:
        share: Of the values of an update. [no source]
    """

    share: float = knob(positive, between(0.0, 1.0), default=0.01)

    @override
    def num(self, num_values: float) -> int:
        """In proportion."""
        return least_whole(self.share * num_values)


@part
class KeptNumber(Kept):
    """A number of values; all, where an update has fewer.

    Attributes:
        num_values: Of an update. [no source]
    """

    num_values: int = knob(at_least(1), default=100)

    @override
    def num(self, num_values: float) -> int:
        """The same for every update."""
        return min(self.num_values, least_whole(num_values))
