"""Decays: numbers that fall in steps, or along a cosine.

Source of the cosine: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017
(arXiv 1608.03983), eq. 5, without restarts; t is 0 in round 1, and 1 in the last round.
"""

import math

from typing_extensions import override

from cosim.configuration import at_least, between, knob, part, positive
from cosim.schedules.port import Schedule


@part
class StepDecay(Schedule):
    """A number that is multiplied by a factor at regular rounds.

    Attributes:
        start: In the first rounds. [no source]
        factor: By which it is multiplied. [no source]
        num_rounds: Rounds from one multiplication to the next. [no source]
    """

    start: float = knob(positive)
    factor: float = knob(positive, between(0.0, 1.0))
    num_rounds: int = knob(at_least(1), default=1)

    @override
    def value(self, round: int) -> float:
        """The start times a power of the factor."""
        return self.start * self.factor ** ((round - 1) // self.num_rounds)


@part
class Cosine(Schedule):
    """A number that goes along half a cosine.

    Attributes:
        start: In round 1. [no source]
        last: In the last of them, and in all rounds after it. [no source]
        num_rounds: Rounds from the start to the last. [no source]
    """

    start: float
    last: float
    num_rounds: int = knob(at_least(2))

    @override
    def value(self, round: int) -> float:
        """`last + (start - last) (1 + cos(pi t)) / 2` at the share `t` of the way."""
        done = min(1.0, (round - 1) / (self.num_rounds - 1))
        return self.last + (self.start - self.last) * (1.0 + math.cos(math.pi * done)) / 2.0
