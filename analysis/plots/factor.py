"""Factor plot: a number of each design over one numeric field, a line per value of the others."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design, Reading, said, telling
from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import t_interval
from analysis.plots.style import COLOURS, FEWEST_RUNS, in_legend, legend_above, style
from cosim.configuration.words import numbers_in_words, parts_of

MOST_LINES = 6
DIVERGED = "training has diverged"
_BESIDE = 0.012
"""How far lines stand beside each other, as part of the axis."""
_PART_OF_WIDTH = 0.75
"""How much of a figure's width its axis has, at least."""
_LETTER = 0.62
"""Width of a letter, as part of the size of the type."""


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
    fields, parts = telling(designs), parts_of(designs[0].fields)
    column = numbers_in_words(field, values, fields, parts)
    words, scale, labels = column.head, column.scale, [column.shown(float(f"{v:g}")) for v in values]
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
        axes.set_xticks(values, _without_overlaps(axes, values, labels, is_logarithmic=is_logarithmic))
    axes.set(xlabel=words, ylabel=y_label)
    axes.grid(alpha=0.3)
    if len(lines) > 1 or crossed:
        legend_above(axes, [*(name for name, _ in drawn), *([DIVERGED] if crossed else [])])
    return len(drawn), len(lines)


def _without_overlaps(
    axes: Axes, values: Sequence[float], labels: Sequence[str], *, is_logarithmic: bool
) -> list[str]:
    """The labels, empty where there is no room beside the one before; the last is always there."""
    places = np.log(values) if is_logarithmic else np.asarray(values)
    places = (places - places[0]) / (np.ptp(places) or 1.0)
    figure, size_pt = axes.get_figure(root=True), float(axes.xaxis.label.get_fontsize())
    width_pt = _PART_OF_WIDTH * 72.0 * (figure.get_figwidth() if figure is not None else 1.0)
    halves = [(len(label) + 1) * _LETTER * size_pt / width_pt / 2.0 for label in labels]

    def is_beside(left: int, right: int) -> bool:
        return bool(places[right] - places[left] >= halves[right] + halves[left])

    kept, last = [0], len(labels) - 1
    for number in range(1, last):
        if is_beside(kept[-1], number):
            kept.append(number)
    while len(kept) > 1 and not is_beside(kept[-1], last):
        kept.pop()
    return [label if number in (*kept, last) else "" for number, label in enumerate(labels)]


def _interval(values: Sequence[float], is_share: bool) -> tuple[float, float, float]:
    """Mean, and the ends of its interval; of few runs the mean alone."""
    if len(values) < FEWEST_RUNS:
        return float(np.mean(values)), float(np.mean(values)), float(np.mean(values))
    if is_share:
        found = share_interval(np.divide(values, 100.0))
        return 100.0 * found.estimate, 100.0 * found.low, 100.0 * found.high
    found = t_interval(values)
    return found.estimate, found.low, found.high
