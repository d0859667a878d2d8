"""Bars of a metric: a lying bar for each row, with its interval, its number, and how many runs missed."""

import math
from collections.abc import Mapping

from matplotlib.axes import Axes

from analysis.plots.amounts import Amounts, annotate
from analysis.plots.bars import MOST_BARS, row_names
from analysis.plots.encoding import Look
from analysis.plots.style import logarithmic


def metric_bars(axes: Axes, looks: Mapping[str, Look], amounts: Amounts) -> int:
    """A metric, row by row; bars, dots and notes are as in `analysis.plots.amounts`.

    On a logarithmic axis, where the length of a bar says nothing, points stand for bars.

    Args:
        looks: Name of a row, such as a design -> how it looks.

    Returns:
        How many rows were drawn, the first ones.
    """
    drawn = [*looks.items()][:MOST_BARS]
    if amounts.is_logarithmic:
        logarithmic(axes, "x")
    for row, (name, look) in enumerate(drawn):
        mean, note = amounts.mean(name), amounts.note(name)
        if not math.isfinite(mean):
            words = amounts.by_design[name].note if name in amounts.by_design else "–"
            place = {"xycoords": axes.get_yaxis_transform(), "xytext": (3, 0), "va": "center"}
            annotate(axes, words, (0.0, row), look.colour, **place)
            continue
        if not amounts.is_logarithmic:
            axes.barh(row, mean, height=0.66, facecolor=look.colour, alpha=0.35, linewidth=0.0)
        bar = {"elinewidth": 0.9, "capsize": 2.0, "linestyle": "none", "zorder": 3}
        axes.errorbar([mean], [row], xerr=amounts.about(name), **look.points(), **bar)
        dots = amounts.dots(name)
        axes.plot(dots, [row] * len(dots), ".", color=look.colour, markersize=5)
        annotate(axes, note, (mean, row), look.colour)
    axes.set_yticks(range(len(drawn)), row_names(axes, (name for name, _ in drawn)))
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    axes.set_xlabel(amounts.words)
    axes.grid(axis="x", alpha=0.3)
    return len(drawn)
