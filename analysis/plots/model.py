"""The global model over simulated time, energy or bits: of one run, or means over the runs of designs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import offset_copy

from analysis.designs import Design, headlines
from analysis.intervals.curves import mean_curve
from analysis.plots.style import (
    COLOURS,
    FEWEST_RUNS,
    MOST_BANDS,
    in_legend,
    is_logarithmic,
    legend_above,
    style,
)
from cosim.engine.store.results import Result
from cosim.records.rows import Measure

AXES = {
    "time_s": (1.0, "simulated time (s)"),
    "energy_j": (1.0, "energy of all clients (J)"),
    "bits_per_client": (1e6, "sent per client (Mbit)"),
}
"""Axes that curves are drawn over: column -> scale and words."""

MOST_NAMED = 6
"""Lines that can be told apart in one picture."""

_MOST_POINTS = 400
_ASIDE = 2.0
"""Points between bars of curves that end together."""


class Curve(NamedTuple):
    """A score of one design over something.

    Attributes:
        points: Columns at, mean, low, high, num_running (`analysis.intervals.curves.mean_curve`).
        runs: What each run had, and where.
    """

    name: str
    points: pd.DataFrame
    runs: Sequence[tuple[pd.Series, pd.Series]]


def model_over_time(axes: Axes, result: Result) -> None:
    """Headline of the global model over simulated time; shares from 0 to 100 %, errors on a log axis."""
    if result.summary.headline is not None:
        column, measure = result.summary.headline
        values = measure.factor * result.evaluations[column]
        axes.plot(result.evaluations["time_s"], values, color=COLOURS[0], marker="o", markersize=3)
        axes.set_ylabel(measure.label)
        if measure.is_share:
            axes.set_ylim(0, 100)
        elif is_logarithmic(measure, values):
            axes.set_yscale("log")
    else:
        axes.text(0.5, 0.5, "nothing was evaluated", ha="center", transform=axes.transAxes)
    axes.set_xlabel("simulated time (s)")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(alpha=0.3)
    axes.set_title("Global model: diverged" if result.summary.is_diverged else "Global model")


def curves_of(designs: Sequence[Design], score: str, measure: Measure, over: str) -> list[Curve]:
    """Means over the runs of each design on a common axis, for designs that have any.

    Args:
        score: Column of the evaluations.
        over: One of AXES.
    """
    found = []
    for design in designs:
        if not all(score in run.evaluations for run in design.counted):
            continue
        runs = [(run.evaluations[over], run.evaluations[score]) for run in design.counted]
        points = mean_curve(runs, is_share=measure.is_share, most_points=_MOST_POINTS)
        if len(points):
            found.append(Curve(design.name, points, runs))
    return found


def model_over(
    axes: Axes,
    designs: Sequence[Design],
    over: str = "time_s",
    score: str | None = None,
    targets: Sequence[float] = (),
) -> list[Curve]:
    """A score of designs over time, energy or bits: means over runs, and their spread (`spread_in_words`).

    Of more than six designs all are drawn faintly, and six, from the best end to the worst, stand out.

    Args:
        over: One of AXES.
        score: Column of the evaluations. None means the first headline.
        targets: Values of the score at which a line is drawn.

    Returns:
        What was drawn.

    Raises:
        ValueError: No design was evaluated.
        ConfigurationError: The score is a share, and a target is none.
    """
    found = headlines(designs)
    if not found:
        raise ValueError("nothing was evaluated: timing only. Use runs that learn.")
    score = next(iter(found)) if score is None else score
    lines = curves_of(designs, score, found[score], over)
    for target in targets:
        found[score].check_target(target)
    draw(axes, lines, found[score], over)
    for target in targets:
        axes.axhline(found[score].factor * target, color="#4a4a4a", linewidth=0.8, linestyle=":", zorder=1)
    return lines


def draw(axes: Axes, lines: Sequence[Curve], measure: Measure, over: str) -> None:
    """Curves with their bands, axes and legend."""
    factor, (scale, words) = measure.factor, AXES[over]
    named = named_among(lines, measure)
    for line in lines:
        if line not in named:
            axes.plot(line.points["at"] / scale, factor * line.points["mean"], color="#b0b0b0", linewidth=0.6)
    for index, line in enumerate(named):
        at = line.points["at"] / scale
        looks = style(index, len(at))
        axes.plot(
            at, factor * line.points["mean"], label=in_legend(line.name), drawstyle="steps-post", **looks
        )
        _spread(axes, line, factor, scale, looks["color"], with_bands=len(named) <= MOST_BANDS)
        _still_running(axes, line, factor, scale, looks["color"], with_words=len(named) <= MOST_BANDS)
    axes.set(xlabel=words, ylabel=measure.label)
    axes.grid(alpha=0.3)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    points = pd.concat([line.points for line in lines]) if lines else pd.DataFrame({"mean": []})
    if is_logarithmic(measure, points["mean"]):
        axes.set_yscale("log")
    elif measure.is_share and len(points):
        low, high = axes.dataLim.intervaly
        margin = 0.04 * (high - low) or 1.0
        axes.set_ylim(max(0.0, low - margin), min(100.0, high + margin))
    if len(lines) > 1:
        legend_above(axes, [line.name for line in named])


def _spread(axes: Axes, line: Curve, factor: float, scale: float, colour: str, *, with_bands: bool) -> None:
    """The intervals of a line, or its runs where they are few; all along it, or at its end only."""
    points = line.points if with_bands else line.points.iloc[-1:]
    at, last = points["at"] / scale, line.points["at"].iloc[-1]
    if len(line.runs) >= FEWEST_RUNS and with_bands:
        ends = factor * points["low"], factor * points["high"]
        axes.fill_between(at, *ends, color=colour, alpha=0.16, linewidth=0.0, step="post")
    elif len(line.runs) >= FEWEST_RUNS:
        ends = points["mean"] - points["low"], points["high"] - points["mean"]
        about = factor * np.maximum(ends, 0.0)
        axes.errorbar(at, factor * points["mean"], about, color=colour, linewidth=0.8, capsize=2.0)
    elif len(line.runs) > 1:
        for where, values in line.runs:
            if with_bands:
                axes.step(
                    where / scale, factor * values, where="post", color=colour, linewidth=0.5, alpha=0.7
                )
            else:
                axes.plot(
                    at, [factor * values[where <= last].iloc[-1]], color=colour, marker="_", markersize=6
                )


def ends(line: Curve) -> pd.DataFrame:
    """The points after which fewer runs were running, with how many are left; none at the end of the last."""
    points = line.points.assign(left=line.points["num_running"].shift(-1))
    return points[points["left"] < points["num_running"]]


def _still_running(
    axes: Axes, line: Curve, factor: float, scale: float, colour: str, *, with_words: bool
) -> None:
    """A tick where a run has ended and the line goes on, and how many are still running."""
    found = ends(line)
    at, mean = found["at"] / scale, factor * found["mean"]
    if len(found):
        axes.plot(at, mean, "|", color=colour, markersize=8, markeredgewidth=1.0, zorder=4)
    for x, y, left in zip(at, mean, found["left"], strict=True) if with_words else ():
        said = f"{left:.0f} of {len(line.runs)}"
        place = {"xytext": (1.0, -8.0), "textcoords": "offset points"}
        axes.annotate(said, (x, y), color=colour, fontsize=5.5, **place)


def ended_in_words(lines: Sequence[Curve]) -> str:
    """Caption about runs that ended before others of their design; nothing where none did."""
    if not any(len(ends(line)) for line in lines):
        return ""
    words = ", and how many are still running" if min(len(lines), MOST_NAMED) <= MOST_BANDS else ""
    return f"Ticks: a run has ended there, and keeps its last value from then on{words}."


def spread_in_words(lines: Sequence[Curve]) -> str:
    """Caption about the spread of runs in a drawing; nothing for designs with one run each."""
    with_bands, fewest = min(len(lines), MOST_NAMED) <= MOST_BANDS, min(len(line.runs) for line in lines)
    if fewest >= FEWEST_RUNS:
        intervals = "95 % intervals of the means"
        return (
            f"Shaded: {intervals}, each for its own point."
            if with_bands
            else f"Bars at the ends: {intervals}."
        )
    if all(len(line.runs) < 2 for line in lines):
        return ""
    runs = "the single runs, where they are too few for an interval"
    return f"Thin: {runs}." if with_bands else f"Dashes at the ends: {runs}."


def named_among(lines: Sequence[Curve], measure: Measure) -> list[Curve]:
    """The lines that stand out: all, or of many six from the best last value to the worst, evenly."""
    if len(lines) <= MOST_NAMED:
        return list(lines)
    sign = -1.0 if measure.higher_is_better else 1.0
    ranked = sorted(lines, key=lambda line: _place(sign * line.points["mean"].iloc[-1]))
    return [ranked[place] for place in np.linspace(0, len(ranked) - 1, MOST_NAMED).round().astype(int)]


def _place(value: float) -> float:
    """By which values are sorted; what is no number is the worst."""
    return value if value < np.inf else np.inf


def curves(axes: Axes, points: pd.DataFrame, x_label: str) -> None:
    """Test accuracies over something, a line per curve, told apart without colour.

    Their intervals are bands, or of more than three lines bars at the ends, side by side.

    Args:
        points: Columns curve, at, mean, low, high (`analysis.intervals.curves.mean_curve`).
    """
    lines = list(points.groupby("curve", sort=False))
    for index, (label, own) in enumerate(lines):
        look, shown = style(index, len(own)), own if len(lines) <= MOST_BANDS else own.iloc[-1:]
        axes.plot(own["at"], 100 * own["mean"], label=str(label), **look)
        if not (own["high"] > own["low"]).any():
            continue
        low, mean, high = (100 * shown[name] for name in ("low", "mean", "high"))
        if len(lines) <= MOST_BANDS:
            axes.fill_between(shown["at"], low, high, color=look["color"], alpha=0.13, linewidth=0)
        else:
            ends = [np.maximum(mean - low, 0.0), np.maximum(high - mean, 0.0)]
            points_aside = _ASIDE * (index - (len(lines) - 1) / 2)
            aside = offset_copy(axes.transData, axes.get_figure(root=True), x=points_aside, units="points")
            bar = {"color": look["color"], "linewidth": 0.9, "capsize": 2.5, "transform": aside}
            axes.errorbar(shown["at"], mean, ends, fmt="none", **bar)
    axes.set_xlabel(x_label)
    axes.set_ylabel("test accuracy (%)")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
