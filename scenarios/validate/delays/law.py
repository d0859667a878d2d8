"""Law: a closed form of a delay, a scenario on the clock that keeps its conditions, and wrong theories.

What a law predicts, its wrong theories predict by the same names. Its scenario is made of parts that any
scenario can use, and gives a sample for each name.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import attrs

from analysis.intervals.statistics import Interval
from scenarios.validate.delays.samples import Sample

STEADY = (
    "services independent of each other and of arrivals, no rest while a packet waits, room for all, "
    "rho < 1, equilibrium"
)
"""Conditions that laws of queues have in common."""
Numbers = Mapping[str, float]
"""Quantity, with its unit in brackets where it has one -> number."""


@attrs.frozen(kw_only=True)
class Law(ABC):
    """A law of delays.

    Attributes:
        name: Name as an option.
        title: Name as printed.
        formula: Formula, in the symbols of its closed form.
        symbols: Symbols of the formula, each with its meaning.
        conditions: Conditions under which it holds, in few words.
        source: Source of the law.
        module: Module of the closed form, in `analysis.closed_forms`.
        shortest: Size of the shortest run whose intervals are not flagged, but now and then; for coverage.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    formula: ClassVar[str]
    symbols: ClassVar[str]
    conditions: ClassVar[str]
    source: ClassVar[str]
    module: ClassVar[str]
    shortest: ClassVar[float] = 0.05

    @abstractmethod
    def predict(self) -> Numbers:
        """The closed form's numbers."""

    @abstractmethod
    def wrong(self) -> Mapping[str, Numbers]:
        """Wrong theories by name; of each the numbers that it says something of."""

    @abstractmethod
    def simulate(self, seed: int, size: float) -> Mapping[str, Sample]:
        """Numbers by the clock.

        Args:
            size: Length of the run, as a multiple of a full validation's.
        """

    def compare(self, found: Mapping[str, Sample], level: float) -> dict[str, Interval]:
        """An interval for each quantity."""
        return {name: sample.interval(level) for name, sample in found.items()}
