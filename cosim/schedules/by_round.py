"""By round: numbers that change at given rounds."""

from bisect import bisect_right
from itertools import pairwise

from typing_extensions import override

from cosim.configuration import knob, not_empty, part, refuse
from cosim.schedules.port import Schedule


@part
class ByRound(Schedule):
    """A number for the rounds from one to the next.

    Attributes:
        values: The numbers. [no source]
        first_rounds: First round of each number, rising from 1. [no source]
    """

    values: tuple[float, ...] = knob(not_empty)
    first_rounds: tuple[int, ...] = knob(not_empty)

    def __attrs_post_init__(self) -> None:
        firsts = self.first_rounds
        if firsts[0] != 1 or any(later <= one for one, later in pairwise(firsts)):
            fix = "Use rounds such as (1, 11, 21)."
            raise refuse(type(self), "first_rounds", firsts, "must rise from round 1", fix)
        if len(firsts) != len(self.values):
            rule = f"must have one round for each of the {len(self.values)} values"
            raise refuse(type(self), "first_rounds", firsts, rule, "Give as many rounds as values.")

    @override
    def value(self, round: int) -> float:
        return self.values[bisect_right(self.first_rounds, round) - 1]
