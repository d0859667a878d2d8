"""Cells of tables: numbers, and means with their 95 % intervals.

Usage::

    cell([2.1, 2.4, 2.2])  # Estimate("2.233", ("1.854", "2.613"))
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analysis.designs import Design, Reading
from analysis.intervals.bounded import mean_within
from analysis.intervals.statistics import Interval
from cosim.results.result import Result
from cosim.units import prefixed

NOTHING = "–"


class Estimate(NamedTuple):
    """A number in a cell of a table, with its 95 % interval.

    Attributes:
        value: The estimate.
        ends: Ends of the interval; None where all runs are equal.
        note: What else a reader must know; may be empty.
    """

    value: str
    ends: tuple[str, str] | None
    note: str = ""


def number(value: float) -> str:
    """Four digits, or all of a large whole part."""
    if not math.isfinite(value):
        return "not finite"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def in_small_units(columns: Mapping[str, Reading], designs: Sequence[Design]) -> dict[str, Reading]:
    """The columns; times that are all below a millisecond in the unit that suits the longest."""

    def shown(words: str, reading: Reading) -> tuple[str, Reading]:
        values = (value for design in designs for value in design.values(reading))
        longest_s = max((abs(value) for value in values if value and math.isfinite(value)), default=1.0)
        if not re.search(r"\(s\b", words) or longest_s >= 1e-3:
            return words, reading
        scale, unit = prefixed(longest_s, "s")

        def scaled(run: Result) -> float | None:
            value = reading(run)
            return None if value is None else value / scale

        return re.sub(r"\(s\b", f"({unit}", words), scaled

    return dict(shown(words, reading) for words, reading in columns.items())


def is_share(words: str) -> bool:
    """True if a column holds shares, from 0 to 100 %."""
    return words.endswith("(%)")


def cell(values: Sequence[float | None], is_share: bool = False) -> Estimate | str:
    """The mean and its 95 % interval, or the one value.

    Args:
        is_share: The values lie from 0 to 100, and so do the ends of the interval.
    """
    known = [value for value in values if value is not None]
    if not known:
        return NOTHING
    if broken := sum(not math.isfinite(value) for value in known):
        return f"not finite in {broken} of {len(known)}"
    if len(known) == 1:
        return number(known[0])
    if is_share and min(known) >= 0.0 and max(known) <= 100.0:
        return estimate(mean_within(np.divide(known, 100.0), 0.0, 1.0, is_share=True), 100.0)
    return estimate(mean_within(known, 0.0 if min(known) >= 0.0 else -math.inf, math.inf))


def estimate(interval: Interval, factor: float = 1.0) -> Estimate:
    """An interval as a cell shows it; without ends if all values are equal.

    Args:
        factor: From a value to the number that is shown.
    """
    low, value, high = (number(factor * end) for end in (interval.low, interval.estimate, interval.high))
    return Estimate(value, None if interval.too_noisy else (low, high))
