"""Staleness: the age of an update in versions of its server's model, and weights by it.

The staleness of an update is the number of versions that its server has made between the version that the
update started from and the version that it makes: 0 if it started from the newest one.

Source: Xie, Koyejo, Gupta, "Asynchronous federated optimization", arXiv 1903.03934, Section 5.2.
"""

from abc import ABC, abstractmethod

from typing_extensions import override

from cosim.configuration import Port, knob, not_negative, part, positive


@part
class Staleness(Port, ABC):
    """Weight for each staleness."""

    @abstractmethod
    def weight(self, staleness: int) -> float:
        """Weight `s` of an update of a staleness; 1 where staleness does not matter."""


@part
class Constant(Staleness):
    """Weight 1 for every staleness."""

    @override
    def weight(self, staleness: int) -> float:
        return 1.0


@part
class Polynomial(Staleness):
    """Polynomial weight s(u) = (u + 1)^-p.

    Attributes:
        exponent: p. [FedAsync, Section 6; FedBuff, Section 5: 0.5]
    """

    exponent: float = knob(positive, default=0.5)

    @override
    def weight(self, staleness: int) -> float:
        return (staleness + 1.0) ** -self.exponent


@part
class Hinge(Staleness):
    """Weight s(u) = 1 up to b, then 1 / (c (u - b) + 1).

    Attributes:
        free: b, up to which lateness has no effect. [FedAsync, Section 6: 4]
        slope: c, the slope of the penalty beyond. [FedAsync, Section 6: 10]
    """

    free: float = knob(not_negative, default=4.0)
    slope: float = knob(positive, default=10.0)

    @override
    def weight(self, staleness: int) -> float:
        return 1.0 / (self.slope * max(0.0, staleness - self.free) + 1.0)
