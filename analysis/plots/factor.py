"""Factor plot: a number of each design over one numeric field, a line per value of the others."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design, Reading, said, telling
from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import t_interval
from analysis.plots.style import in_legend, legend_above, style
from cosim.words import column_in_words, parts_of

MOST_LINES = 6


def numeric_fields(designs: Sequence[Design]) -> list[str]:
    """Fields that tell the designs apart and are numbers in all of them, those with most values first."""

    def num_values(name: str) -> int:
        return len({design.fields[name] for design in designs})

    numbers = [
        name
        for name in telling(designs)
        if all(type(design.fields.get(name)) in (int, float) for design in designs)
    ]
    return sorted(numbers, key=num_values, reverse=True)


def lines_of(designs: Sequence[Design], field: str) -> dict[str, list[Design]]:
    """Designs by what tells them apart besides a field, in words."""
    others = [name for name in telling(designs) if name != field]
    lines: dict[str, list[Design]] = {}
    for design in designs:
        own = [said(name, design.fields, others) for name in others if name in design.fields]
        lines.setdefault(", ".join(own), []).append(design)
    return lines


def factor(
    axes: Axes,
    designs: Sequence[Design],
    field: str,
    reading: Reading,
    y_label: str,
    *,
    is_share: bool = False,
) -> tuple[int, int]:
    """Means over runs over the values of a field, with bands of 95 %; a line for what else differs.

    Args:
        field: One of `numeric_fields`.
        reading: Reads the number off a run; None is left out.
        is_share: The numbers lie from 0 to 100 %, and so do their intervals.

    Returns:
        How many lines were drawn, the first ones, and how many there are.
    """
    lines = lines_of(designs, field)
    values = sorted({float(design.fields[field]) for design in designs})
    scale, words = column_in_words(field, values, telling(designs), parts_of(designs[0].fields))
    drawn = list(lines.items())[:MOST_LINES]
    for index, (name, own) in enumerate(drawn):
        found = [(design.fields[field] / scale, *_interval(design, reading, is_share)) for design in own]
        x, mean, low, high = np.transpose(
            sorted(each for each in found if np.isfinite(each[1])) or np.empty((0, 4))
        )
        looks = style(index, 1)
        axes.plot(x, mean, label=in_legend(name or "mean"), **looks)
        axes.fill_between(x, low, high, color=looks["color"], alpha=0.15, linewidth=0.0)
    values = [value / scale for value in values]
    if values[0] > 0.0 and values[-1] / values[0] >= 16.0:
        axes.set_xscale("log")
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()
    elif len(values) <= 8:
        axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set(xlabel=words, ylabel=y_label)
    axes.grid(alpha=0.3)
    if len(lines) > 1:
        legend_above(axes, [name for name, _ in drawn])
    return len(drawn), len(lines)


def _interval(design: Design, reading: Reading, is_share: bool) -> tuple[float, float, float]:
    """Mean, and the ends of its interval, of the runs that have the number; not numbers without any."""
    values = [value for value in design.values(reading) if value is not None]
    if not values:
        return np.nan, np.nan, np.nan
    if len(values) < 2 or not np.isfinite(values).all():
        return float(np.mean(values)), float(np.mean(values)), float(np.mean(values))
    if is_share:
        found = share_interval(np.divide(values, 100.0))
        return 100.0 * found.estimate, 100.0 * found.low, 100.0 * found.high
    found = t_interval(values)
    return found.estimate, found.low, found.high
