"""Factor plot: a metric of each design over one numeric field, a line per value of the others."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design, telling, without
from analysis.plots.amounts import Amounts, annotate
from analysis.plots.encoding import SHARED, Encoding, Look
from analysis.plots.style import in_legend, legend_above, logarithmic
from cosim.display.words import numbers_in_words, parts_of

MOST_LINES = 12
DIVERGED = "training has diverged"
_BESIDE = 0.012
"""How far lines stand beside each other, as part of the axis."""
_MARGIN = 0.06
"""Of the axis, beyond its first and its last value."""
_SPREAD = 8.0
"""Ratio of the largest value to the least from which on an axis is logarithmic."""
_PART_OF_WIDTH = 0.75
"""How much of a figure's width its axis has, at least."""
_LETTER = 0.62
"""Width of a letter, as part of the size of the type."""


class Axis(NamedTuple):
    """Values of a field along an axis.

    Attributes:
        places: Value of the field -> place along the axis.
        labels: Of the places, in their order.
        words: What the axis is called.
    """

    places: Mapping[float, float]
    labels: Sequence[str]
    words: str

    @property
    def is_logarithmic(self) -> bool:
        """True if the values are above zero and span orders of magnitude."""
        least, most = min(self.places.values()), max(self.places.values())
        return least > 0.0 and most / least >= _SPREAD

    def aside(self, value: float, beside: float) -> float:
        """Place of a value, moved by a part of the axis."""
        place, least, most = self.places[value], min(self.places.values()), max(self.places.values())
        if self.is_logarithmic:
            return place * (most / least) ** beside
        return place + beside * (most - least)

    def side(self, value: float) -> str:
        """Side of words that stand at the edge above a value, so that they stay within the axes."""
        values = [*self.places]
        return "center" if len(values) == 1 else {values[0]: "left", values[-1]: "right"}.get(value, "center")


def lines_of(designs: Sequence[Design], field: str) -> dict[str, list[Design]]:
    """Designs by what they are called without a field, each line in the order of its values."""
    fields = telling(designs)
    lines: dict[str, list[Design]] = {}
    for design in sorted(designs, key=lambda design: design.fields[field]):
        lines.setdefault(without(design, field, fields), []).append(design)
    names = dict.fromkeys(without(design, field, fields) for design in designs)
    return {name: lines[name] for name in names}


def factor(axes: Axes, designs: Sequence[Design], amounts: Amounts, field: str, encoding: Encoding) -> int:
    """A metric over the values of a field, a line for what else differs.

    Bars, dots and notes are as in `analysis.plots.amounts`. Lines stand a little beside each other. A cross
    at the lower edge says that training has diverged in a run of the design there.

    Args:
        amounts: Samples of the metric.
        field: One of `numeric_fields`.

    Returns:
        How many lines were drawn, the first ones.
    """
    along, lines = axis_of(designs, field), list(lines_of(designs, field).items())[:MOST_LINES]
    if along.is_logarithmic:
        axes.set_xscale("log")
        axes.minorticks_off()
    if amounts.is_logarithmic:
        logarithmic(axes, "y")
    for number, (name, members) in enumerate(lines):
        beside = _BESIDE * (number - (len(lines) - 1) / 2.0)
        places = [along.aside(float(design.fields[field]), beside) for design in members]
        look = encoding.shared(design.name for design in members)
        means = [amounts.mean(design.name) for design in members]
        label, has_any = in_legend(_label(name, members, amounts)), any(map(math.isfinite, means))
        axes.plot(places, means, label=label, zorder=2, **look.line(1))
        for design, x in zip(members, places, strict=True):
            edge = (number, along.side(float(design.fields[field]))) if has_any else None
            _point(axes, design, x, amounts, encoding[design.name], edge)
    has_crosses = any(run.summary.is_diverged for design in designs for run in design.counted)
    if has_crosses:
        axes.plot([], [], "x", color=SHARED, label=DIVERGED)
    places = list(along.places.values())
    if along.is_logarithmic or len(places) <= 8:
        axes.set_xticks(places, _without_overlaps(axes, along))
    axes.set_xlim(along.aside(min(along.places), -_MARGIN), along.aside(max(along.places), _MARGIN))
    axes.set(xlabel=along.words, ylabel=amounts.words)
    axes.grid(alpha=0.3)
    if len(lines) > 1 or has_crosses:
        names = (_label(name, members, amounts) for name, members in lines)
        legend_above(axes, [*names, *([DIVERGED] if has_crosses else [])])
    return len(lines)


def _label(name: str, designs: Sequence[Design], amounts: Amounts) -> str:
    """Name of a line in the legend; where no design of it has a mean, that is said here, and at no point."""
    own = name or "mean"
    return own if any(amounts.has_mean(design.name) for design in designs) else f"{own}: none"


def _point(
    axes: Axes, design: Design, x: float, amounts: Amounts, look: Look, edge: tuple[int, str] | None
) -> None:
    """The point of one design, with what stands beside it.

    Args:
        edge: Row and side of a note at the upper edge. None means no notes.
    """
    name, mean, note = design.name, amounts.mean(design.name), amounts.note(design.name)
    at_edge = axes.get_xaxis_transform()
    if any(run.summary.is_diverged for run in design.counted):
        cross = {"color": look.colour, "markersize": 7, "transform": at_edge, "clip_on": False, "zorder": 4}
        axes.plot([x], [0.0], "x", **cross)
    if math.isfinite(mean):
        bar = {"elinewidth": 0.9, "capsize": 2.0, "linestyle": "none", "zorder": 3}
        axes.errorbar([x], [mean], amounts.about(name), **look.points(), **bar)
        dots = amounts.dots(name)
        axes.plot([x] * len(dots), dots, ".", color=look.colour, markersize=5)
        annotate(axes, note, (x, mean), look.colour)
    elif note and edge is not None:
        row, side = edge
        place = {"xycoords": at_edge, "xytext": (0, -2 - 8 * row), "ha": side, "va": "top"}
        annotate(axes, note, (x, 1.0), look.colour, **place)


def axis_of(designs: Sequence[Design], field: str) -> Axis:
    """The axis of a numeric field, in a unit that suits its values."""
    values = sorted({float(design.fields[field]) for design in designs})
    fields, parts = telling(designs), parts_of(designs[0].fields)
    column = numbers_in_words(field, values, fields, parts)
    labels = [column.shown(float(f"{value:g}")) for value in values]
    return Axis({value: value / column.scale for value in values}, labels, column.head)


def _without_overlaps(axes: Axes, along: Axis) -> list[str]:
    """The labels, empty where there is no room beside the one before; the last is always there."""
    labels, values = along.labels, list(along.places.values())
    places = np.log(values) if along.is_logarithmic else np.asarray(values)
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
