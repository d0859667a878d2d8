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
        initial: Value in the first rounds. [no source]
        factor: Factor of each multiplication. [no source]
        num_rounds: Rounds from one multiplication to the next. [no source]
    """

    initial: float = knob(positive)
    factor: float = knob(positive, between(0.0, 1.0))
    num_rounds: int = knob(at_least(1), default=1)

    @override
    def value(self, round: int) -> float:
        return self.initial * self.factor ** ((round - 1) // self.num_rounds)


@part
class Cosine(Schedule):
    """A number that follows half a cosine.

    Attributes:
        initial: Value in round 1. [no source]
        last: Value in the last of these rounds, and in all later ones. [no source]
        num_rounds: Rounds from the first to the last. [no source]
    """

    initial: float
    last: float
    num_rounds: int = knob(at_least(2))

    @override
    def value(self, round: int) -> float:
        done = min(1.0, (round - 1) / (self.num_rounds - 1))
        return self.last + (self.initial - self.last) * (1.0 + math.cos(math.pi * done)) / 2.0
