"""Law: the port of a formula, a scenario on the clock that keeps its conditions, and wrong theories.

Asked: `predict`, `wrong` and `simulate`, all by the same names of quantities, each with its unit in brackets
where it has one. Given: `Clock`, below.

Usage::

    class Barrier(Law):
        \"""A round lasts as long as its slowest client.\"""

        def predict(self):
            return {"round (s)": 0.25 + 1.0 * (1 + 1 / 2 + 1 / 3)}

        def wrong(self):
            return {"the mean client": {"round (s)": 0.25 + 1.0}}

        def simulate(self, clock):
            rounds = clock.run(system(num_global_rounds=clock.num(4000))).rounds
            rounds = rounds[rounds["level"] == "edge"]
            return {"round (s)": Series(values=rounds["end_s"] - rounds["start_s"])}

Scope and limitations: numbers are compared one by one; what holds of a whole curve needs a number for each of
some of its points. A law is predicted and run with the values that its class has.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

import attrs

from analysis.laws.samples import Sample

if TYPE_CHECKING:
    from cosim.results.result import Result
    from cosim.system import System

Numbers = Mapping[str, float]
"""Quantity, with its unit in brackets where it has one -> number."""


class Clock(Protocol):
    """Seed and length of a law's scenario, and runs of systems.

    Attributes:
        seed: Names the draws.
        size: Length of the runs, as a multiple of a full validation's.
    """

    @property
    def seed(self) -> int: ...

    @property
    def size(self) -> float: ...

    def num(self, full: float) -> int:
        """Number of rounds, packets or runs of this size, at least 1.

        Args:
            full: Number in a full validation.
        """
        ...

    def run(self, system: "System", number: int = 0) -> "Result":
        """Run a system, with a seed of the validation in place of its own.

        Args:
            number: Number of the run, if there are several; each has another seed.
        """
        ...


@attrs.frozen(kw_only=True)
class Law(ABC):
    """A law: its first line of documentation is its title.

    Attributes:
        formula: Formula, in the symbols of its closed form.
        symbols: Symbols of the formula, each with its meaning.
        conditions: Conditions under which it holds, in few words.
        source: Source of the law.
        module: Module of the closed form, in `analysis.closed_forms`.
        shortest: Size of the shortest run whose intervals are rarely flagged; for coverage.
    """

    formula: ClassVar[str] = ""
    symbols: ClassVar[str] = ""
    conditions: ClassVar[str] = ""
    source: ClassVar[str] = ""
    module: ClassVar[str] = ""
    shortest: ClassVar[float] = 0.05

    @property
    def title(self) -> str:
        """Title, as printed."""
        said = (type(self).__doc__ or "").strip().partition("\n")[0]
        return said.removesuffix(".") or type(self).__name__

    @abstractmethod
    def predict(self) -> Numbers:
        """The formula's numbers."""

    @abstractmethod
    def wrong(self) -> Mapping[str, Numbers]:
        """Wrong theories by name; of each the numbers that it says something of."""

    @abstractmethod
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """A sample of each quantity, from what happens on the clock."""
