"""Warm-up: rounds in which a number rises to what it is from then on."""

from typing_extensions import override

from cosim.configuration import at_least, knob, part
from cosim.schedules.port import Rate, Schedule, number


@part
class WarmUp(Schedule):
    """A number, or another schedule, of which the first rounds have a rising share.

    Attributes:
        then: The number from then on; of a schedule its value in the same round. [no source]
        num_rounds: The first round that has the whole of it; round r before it has r / num_rounds. [no
            source]
    """

    then: Rate
    num_rounds: int = knob(at_least(1))

    @override
    def value(self, round: int) -> float:
        """A part of the number."""
        share = min(1.0, round / self.num_rounds)
        return share * number(self.then, round)
