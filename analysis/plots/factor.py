"""Factor plot: a number of each design over one numeric field, a line per value of the others."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design, Reading, said, telling
from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import t_interval
from analysis.plots.style import COLOURS, FEWEST_RUNS, in_legend, legend_above, style
from cosim.configuration.words import column_in_words, parts_of

MOST_LINES = 6
DIVERGED = "training has diverged"
_BESIDE = 0.012
"""How far lines stand beside each other, as part of the axis."""


def numeric_fields(designs: Sequence[Design]) -> list[str]:
    """Fields that tell the designs apart and are numbers in all of them, most values first."""

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
    """Means over runs over the values of a field, a line for what else differs.

    Bars are 95 % intervals; of a design of fewer than three runs each one has a dot. Lines stand a little
    beside each other. A cross at the lower edge says that training has diverged in a run of the design there;
    where a number of it is not finite, the design has no mean.

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
    values = [value / scale for value in values]
    is_logarithmic = values[0] > 0.0 and values[-1] / values[0] >= 16.0
    crossed: list[tuple[float, str]] = []
    for index, (name, own) in enumerate(drawn):
        looks, beside = style(index, 1), _BESIDE * (index - (len(drawn) - 1) / 2.0)
        width = (values[-1] / values[0]) ** beside if is_logarithmic else beside * (values[-1] - values[0])
        found = []
        for design in sorted(own, key=lambda design: design.fields[field]):
            x = design.fields[field] / scale
            x = x * width if is_logarithmic else x + width
            if any(run.summary.is_diverged for run in design.counted):
                crossed.append((x, looks["color"]))
            known = [value for value in design.values(reading) if value is not None]
            if not known or not np.isfinite(known).all():
                continue
            mean, low, high = _interval(known, is_share)
            found.append((x, mean, max(mean - low, 0.0), max(high - mean, 0.0)))
            if 1 < len(known) < FEWEST_RUNS:
                axes.plot(
                    [x] * len(known),
                    known,
                    color=looks["color"],
                    marker=".",
                    markersize=5,
                    linestyle="none",
                )
        x, mean, below, above = np.transpose(found or np.empty((0, 4)))
        axes.errorbar(
            x, mean, (below, above), label=in_legend(name or "mean"), elinewidth=0.8, capsize=2.0, **looks
        )
    for x, colour in crossed:
        at_edge = axes.get_xaxis_transform()
        axes.plot([x], [0.0], "x", color=colour, markersize=7, transform=at_edge, clip_on=False, zorder=4)
    if crossed:
        axes.plot([], [], "x", color=COLOURS[0], label=DIVERGED)
    if is_logarithmic:
        axes.set_xscale("log")
        axes.minorticks_off()
    if is_logarithmic or len(values) <= 8:
        axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set(xlabel=words, ylabel=y_label)
    axes.grid(alpha=0.3)
    if len(lines) > 1 or crossed:
        legend_above(axes, [*(name for name, _ in drawn), *([DIVERGED] if crossed else [])])
    return len(drawn), len(lines)


def _interval(values: Sequence[float], is_share: bool) -> tuple[float, float, float]:
    """Mean, and the ends of its interval; of few runs the mean alone."""
    if len(values) < FEWEST_RUNS:
        return float(np.mean(values)), float(np.mean(values)), float(np.mean(values))
    if is_share:
        found = share_interval(np.divide(values, 100.0))
        return 100.0 * found.estimate, 100.0 * found.low, 100.0 * found.high
    found = t_interval(values)
    return found.estimate, found.low, found.high
