"""Cells: numbers of a table, rounded by their intervals.

A number has as many digits as its interval can tell: it and the ends are rounded to the first two
significant digits of half the interval's width, so 12.3456 [11.87, 12.82] becomes 12.35 [11.87, 12.82]. A
number without a width has four significant digits, and no number has more than six.

Source: two significant digits of an uncertainty: Guide to the expression of uncertainty in measurement, JCGM
100:2008, 7.2.6.

Usage::

    number_of(Interval(estimate=12.3456, low=11.8701, high=12.8211, level=0.95)).text

Validation: tests/analysis/tables/test_cells.py.
"""

import math
from typing import NamedTuple

from analysis.intervals.statistics import Interval
from analysis.samples import Sample

ALONE, MOST, OF_WIDTH = 4, 6, 2
"""Significant digits of a number without a width, of any number at most, and of half a width."""


class Number(NamedTuple):
    """A number of a table.

    Attributes:
        value: The number.
        ends: Ends of its interval; None where all runs are equal.
        note: What else a reader must know; may be empty.
        is_best: True if it is better than all that it stands beside, on the same seeds.
    """

    value: str
    ends: tuple[str, str] | None = None
    note: str = ""
    is_best: bool = False

    @property
    def beside(self) -> str:
        """Ends and note, which stand beside the value."""
        ends = "" if self.ends is None else f"[{self.ends[0]}, {self.ends[1]}]"
        return ", ".join(filter(None, (ends, self.note)))

    @property
    def text(self) -> str:
        """All in a line, such as 12.3 [11.8, 12.8], 4 of 5."""
        return " ".join(filter(None, (self.value, self.beside))) if self.ends else self._with_note

    @property
    def _with_note(self) -> str:
        return ", ".join(filter(None, (self.value, self.note)))


Cell = str | Number


def text_of(cell: Cell) -> str:
    """The cell in a line."""
    return cell if isinstance(cell, str) else cell.text


def number_of(interval: Interval, scale: float = 1.0, note: str = "", is_best: bool = False) -> Cell:
    """The cell of an estimate; why there is none.

    Args:
        scale: Factor to what is shown.
    """
    if math.isnan(interval.estimate):
        return interval.remark
    value, low, high = (scale * end for end in (interval.estimate, interval.low, interval.high))
    if not low < high:
        plain = rounded(value, ALONE - 1 - _order(value))
        return Number(plain.rstrip("0").rstrip(".") if "." in plain else plain, None, note, is_best)
    width = (high - low) / 2.0
    decimals = min(
        (OF_WIDTH if math.isfinite(width) else ALONE) - 1 - _order(width), MOST - 1 - _order(value)
    )
    return Number(rounded(value, decimals), (rounded(low, decimals), rounded(high, decimals)), note, is_best)


def value_of(sample: Sample, scale: float = 1.0, is_best: bool = False) -> Cell:
    """Mean of a sample; if a run missed the target, the range and the number of runs that reached it."""
    if sample.metric.is_reached:
        return sample.note
    up_to = sample.statistic.removeprefix("mean").strip() if sample.missed else ""
    return number_of(sample.value, scale, ", ".join(filter(None, (up_to, sample.note))), is_best)


def rounded(value: float, decimals: int) -> str:
    """The number with a number of decimals; an infinite end in words."""
    if not math.isfinite(value):
        return str(value)
    found = f"{round(value, decimals):.{max(decimals, 0)}f}"
    return found.removeprefix("-") if not float(found) else found


def _order(value: float) -> int:
    """Power of ten of the first significant digit; 0 of none."""
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0
