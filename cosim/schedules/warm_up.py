"""Warm-up: rounds in which a number rises to its final value."""

from typing_extensions import override

from cosim.configuration import at_least, knob, part
from cosim.schedules.port import Rate, Schedule, number


@part
class WarmUp(Schedule):
    """Rising share of a number, or of another schedule, in the first rounds.

    Attributes:
        then: Number or schedule after the warm-up; a schedule is read in the same round. [no source]
        num_rounds: First round with the full value; round r before it has r / num_rounds of it. [no source]
    """

    then: Rate
    num_rounds: int = knob(at_least(1))

    @override
    def value(self, round: int) -> float:
        share = min(1.0, round / self.num_rounds)
        return share * number(self.then, round)
