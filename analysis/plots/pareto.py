"""Pareto picture: the time and the energy that designs take to a target, and which no other one beats."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design, headlines, runs_of
from analysis.intervals.statistics import Interval
from analysis.metrics import metrics
from analysis.plots.style import COLOURS, FEWEST_RUNS, MARKERS, in_legend, legend_above
from analysis.samples import Sample, samples
from cosim.studies.table import target_label

MOST_NAMED = 8


class Point(NamedTuple):
    """Cost of a design up to a target, in time and in energy."""

    name: str
    time_s: Sample
    energy_j: Sample

    @property
    def place(self) -> tuple[float, float]:
        """Its two means; NaN where it has none."""
        return self.time_s.value.estimate, self.energy_j.value.estimate

    @property
    def is_drawn(self) -> bool:
        """True if it has both means."""
        return all(map(math.isfinite, self.place))


def points(designs: Sequence[Design], target: float, held: int = 1) -> list[Point]:
    """Cost of each design up to a target (`analysis.samples`); a design without an evaluation has none.

    Args:
        target: Of the headline, such as an accuracy of 0.8.
        held: Evaluations in a row at which it must be reached to count.
    """
    runs, label = runs_of(designs, (target,), held), target_label(target, held)
    known = metrics(runs)
    times_s = samples(runs, known[f"time_to_{label}_s"])
    energies_j = samples(runs, known[f"energy_to_{label}_j"])
    return [Point(found.name, found, energies_j[design]) for design, found in times_s.items()]


def target_in_words(designs: Sequence[Design], target: float, held: int = 1) -> str:
    """The target as the headline says it, and how long it must hold."""
    words = next(iter(headlines(designs).values())).shown(target)
    return words + (f" held for {held} evaluations" if held > 1 else "")


def front(places: Sequence[tuple[float, float]]) -> list[int]:
    """The points that no other beats in one number without losing in the other, by the first number."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    best, kept = math.inf, []
    for index in order:
        if places[index][1] < best:
            best = places[index][1]
            kept.append(index)
    return kept


def _named(places: Sequence[tuple[float, float]], kept: Sequence[int]) -> list[int]:
    """The front, and after it the points that are best in both numbers together, relative to the best."""
    relative = np.array(places) / np.maximum(np.min(places, axis=0), np.finfo(float).tiny)
    others = [int(index) for index in np.argsort(relative.sum(axis=1), kind="stable") if index not in kept]
    return [*kept, *others][:MOST_NAMED]


def _about(interval: Interval) -> list[list[float]]:
    return [[interval.estimate - interval.low], [interval.high - interval.estimate]]


def pareto(axes: Axes, designs: Sequence[Design], target: float, held: int = 1) -> list[Point]:
    """Time and energy to a target, with intervals of 95 %, and the front of designs that no other beats.

    A hollow point has runs that missed, so it would take more, and is no part of the front; a design of
    which no run reached the target by its horizon is not drawn. Of many designs eight are named and have
    intervals: the front, and the next. Fewer than three runs have no interval.

    Returns:
        All points, drawn or not.

    Raises:
        ValueError: No run reached the target.
    """
    found = points(designs, target, held)
    drawn = [point for point in found if point.is_drawn]
    if not drawn:
        raise ValueError(f"target = {target:g}: no run reached it. Use a target that some run reached.")
    known = [index for index, point in enumerate(drawn) if not point.time_s.missed]
    kept = [known[index] for index in front([drawn[index].place for index in known])]
    named = list(range(len(drawn))) if len(drawn) <= MOST_NAMED else _named([p.place for p in drawn], kept)
    for index, point in enumerate(drawn):
        x, y = point.time_s.value, point.energy_j.value
        is_named = index in named
        place = named.index(index) if is_named else 0
        colour = COLOURS[place % len(COLOURS)] if is_named else "#b0b0b0"
        missed = point.time_s.missed
        has_interval = is_named and point.time_s.num_runs >= FEWEST_RUNS
        words = f" ({point.time_s.note})" if missed else ""
        axes.errorbar(
            [x.estimate],
            [y.estimate],
            xerr=_about(x) if has_interval else None,
            yerr=_about(y) if has_interval else None,
            color=colour,
            marker=MARKERS[place % len(MARKERS)] if is_named else ".",
            markersize=5,
            markerfacecolor="none" if missed else colour,
            linewidth=0.8,
            linestyle="none",
            label=in_legend(point.name + words) if is_named else None,
            zorder=3 if is_named else 2,
        )
    steps = np.array([drawn[index].place for index in kept] or np.empty((0, 2)))
    axes.step(steps[:, 0], steps[:, 1], where="post", color="#4a4a4a", linewidth=0.8, linestyle=":")
    words = target_in_words(designs, target, held)
    axes.set(xlabel=f"time to {words} (s)", ylabel=f"energy to {words} (J)")
    axes.margins(0.1)
    axes.grid(alpha=0.3)
    legend_above(axes, [drawn[index].name for index in named])
    return found
