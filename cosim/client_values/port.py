"""Values: a number for each client, given once for a group of cells or once for a client.

Asked: `numbers`, all of them, which the rules of the field hold against; and `of_clients`.

Usage: `PerGroup(values=(1e9, 2e9)).of_clients([2, 2])` is [[1e9, 1e9], [2e9, 2e9]].
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from cosim.configuration import Port, knob, not_empty, part, refuse
from cosim.configuration.asks import placed
from cosim.configuration.rules import Broken, Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Share = TypeVar("Share", float, "NDArray[np.float64]")


def each(rule: Rule) -> Rule:
    """A rule for every number of a field of values."""
    return lambda values: values.broken(rule)


def in_range(ends: Sequence[float], share: Share) -> Share:
    """Value at a share, 0 to 1, between the lowest and the highest of a field with one value or two."""
    return ends[0] + (ends[-1] - ends[0]) * share


@part
class Values(Port, ABC):
    """A number for each client; a plain number holds for all."""

    @classmethod
    def of_number(cls, number: float) -> "PerGroup":
        """The same number for all clients."""
        return PerGroup(values=(number,))

    @property
    @abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """Every number that is given to anybody."""

    def broken(self, rule: Rule) -> str | Broken | None:
        """Complaint of a rule about the numbers; None if they keep it."""
        return rule(self.numbers)

    @abstractmethod
    def of_clients(self, cell_sizes: Sequence[int]) -> list[list[float]]:
        """The numbers of the clients of each cell."""


def _place(values: Values, system: Any) -> str:
    """The field of a system in which values are; their kind where they are in none."""
    for path, found in placed(system):
        if found is values:
            return f"{type(system).__name__}.{path}"
    return type(values).__name__


@part
class PerGroup(Values):
    """A value for all clients, or one for the clients of each of several equal groups of cells.

    With k values, cell j of N (from 1) belongs to group ceil(j k / N): for k = 2 the first floor(N / 2) cells
    get the first value, as in Section VI-C of the HIST journal paper. A cell alone gets the last of two.

    Attributes:
        values: The values, the first cells' first. [that of the field they are for]
    """

    values: tuple[float, ...] = knob(not_empty)

    @property
    @override
    def numbers(self) -> tuple[float, ...]:
        return self.values

    @override
    def fit(self, system: Any) -> None:
        """Refuse more groups than cells."""
        if len(self.values) > max(2, system.num_cells):
            rule = f"{len(self.values)} values for {system.num_cells} cells"
            raise refuse(
                _place(self, system), "values", self.values, rule, "Give one for each cell, or use PerClient."
            )

    @override
    def of_clients(self, cell_sizes: Sequence[int]) -> list[list[float]]:
        """Value of its cell's group for each client."""
        num_cells = len(cell_sizes)
        groups = [((cell + 1) * len(self.values) - 1) // num_cells for cell in range(num_cells)]
        return [[self.values[group]] * size for group, size in zip(groups, cell_sizes, strict=True)]


@part
class PerClient(Values):
    """A value for every client, in the order of their numbers.

    Attributes:
        values: The values. [that of the field they are for]
    """

    values: tuple[float, ...] = knob(not_empty)

    @property
    @override
    def numbers(self) -> tuple[float, ...]:
        return self.values

    @override
    def fit(self, system: Any) -> None:
        """Refuse more or fewer values than clients."""
        if len(self.values) != system.num_clients:
            rule = f"{len(self.values)} values for {system.num_clients} clients"
            raise refuse(
                _place(self, system),
                "values",
                self.values,
                rule,
                "Give one for each client, or use PerGroup.",
            )

    @override
    def of_clients(self, cell_sizes: Sequence[int]) -> list[list[float]]:
        """Each client's own value."""
        ends = list(accumulate(cell_sizes))
        return [list(self.values[end - size : end]) for end, size in zip(ends, cell_sizes, strict=True)]
