"""Staleness: how much less an update weighs that comes late.

The staleness of an update is the number of versions that its server has made between the one that the update
started from and the one that it makes: 0 where nothing has happened meanwhile.

Source: Xie, Koyejo, Gupta, "Asynchronous federated optimization", arXiv 1903.03934, Section 5.2.
"""

from abc import ABC, abstractmethod

from typing_extensions import override

from cosim.configuration import Port, knob, not_negative, part, positive


@part
class Staleness(Port, ABC):
    """A weight for each staleness."""

    @abstractmethod
    def weight(self, staleness: int) -> float:
        """Weight `s` of an update of a staleness; 1 where staleness does not matter."""


@part
class Constant(Staleness):
    """1, however late."""

    @override
    def weight(self, staleness: int) -> float:
        """1."""
        return 1.0


@part
class Polynomial(Staleness):
    """s(u) = (u + 1)^-p.

    Attributes:
        exponent: p. [FedAsync, Section 6; FedBuff, Section 5: 0.5]
    """

    exponent: float = knob(positive, default=0.5)

    @override
    def weight(self, staleness: int) -> float:
        """A power of it."""
        return (staleness + 1.0) ** -self.exponent


@part
class Hinge(Staleness):
    """s(u) = 1 up to b, then 1 / (c (u - b) + 1).

    Attributes:
        free: b, up to which lateness does not matter. [FedAsync, Section 6: 4]
        slope: c, how fast it matters beyond. [FedAsync, Section 6: 10]
    """

    free: float = knob(not_negative, default=4.0)
    slope: float = knob(positive, default=10.0)

    @override
    def weight(self, staleness: int) -> float:
        """A hyperbola beyond the hinge."""
        return 1.0 / (self.slope * max(0.0, staleness - self.free) + 1.0)
