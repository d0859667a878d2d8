"""Pareto picture: two metrics of designs, such as time and energy to a target, and their front."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design
from analysis.plots.amounts import Amounts, annotate
from analysis.plots.encoding import SHARED, Encoding
from analysis.plots.style import in_legend, legend_above, logarithmic

_FAINT = "#b0b0b0"


def front(places: Sequence[tuple[float, float]]) -> list[int]:
    """The points that no other beats in one number without losing in the other, by the first number."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    best, kept = math.inf, []
    for index in order:
        if places[index][1] < best:
            best = places[index][1]
            kept.append(index)
    return kept


def pareto(axes: Axes, designs: Sequence[Design], across: Amounts, up: Amounts, encoding: Encoding) -> None:
    """Two metrics with their intervals, and the front of all designs that no other beats.

    Bars and notes are as in `analysis.plots.amounts`. A design in which a run missed a target would take
    more, and is no part of the front; one without both means is not drawn.

    Args:
        designs: Ones that are drawn, of one panel; other designs of the study are faint dots.

    Raises:
        ValueError: No design has both means.
    """
    places = {
        name: (across.mean(name), up.mean(name))
        for name in across.by_design
        if math.isfinite(across.mean(name)) and math.isfinite(up.mean(name))
    }
    if not places:
        raise ValueError("no design has both means: no run reached it. Use a target that some run reached.")
    if across.is_logarithmic:
        logarithmic(axes, "x")
    if up.is_logarithmic:
        logarithmic(axes, "y")
    known = [at for name, at in places.items() if not (across.note(name) or up.note(name))]
    steps = np.array([known[index] for index in front(known)] or np.empty((0, 2)))
    axes.step(steps[:, 0], steps[:, 1], where="post", color=SHARED, linewidth=0.8, linestyle=":")
    drawn = [design.name for design in designs if design.name in places]
    others = np.array([at for name, at in places.items() if name not in drawn] or np.empty((0, 2)))
    axes.plot(others[:, 0], others[:, 1], ".", color=_FAINT, markersize=3, zorder=1)
    for name in drawn:
        x, y = places[name]
        bars = {"xerr": across.about(name), "yerr": up.about(name), "linestyle": "none", "elinewidth": 0.8}
        axes.errorbar(
            [x], [y], label=in_legend(encoding.labels[name]), zorder=3, **encoding[name].points(), **bars
        )
        annotate(axes, across.note(name) or up.note(name), (x, y), encoding[name].colour)
    axes.set(xlabel=across.words, ylabel=up.words)
    axes.margins(0.1)
    axes.grid(alpha=0.3)
    if len(designs) > 1:
        legend_above(axes, [encoding.labels[name] for name in drawn])
