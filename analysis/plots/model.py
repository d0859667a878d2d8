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
from analysis.plots.encoding import COLOURS, Encoding
from analysis.plots.style import (
    FEWEST_RUNS,
    MOST_BANDS,
    in_legend,
    is_logarithmic,
    legend_above,
    logarithmic,
    style,
)
from cosim.records.measures import Measure
from cosim.results.result import Result

AXES = {
    "time_s": (1.0, "simulated time (s)"),
    "energy_j": (1.0, "energy of all clients (J)"),
    "bits_per_client": (1e6, "sent per client (Mbit)"),
}
"""Axes that curves are drawn over: column -> scale and words."""

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
            logarithmic(axes, "y")
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
    encoding: Encoding,
    over: str = "time_s",
    score: str | None = None,
    targets: Sequence[float] = (),
) -> list[Curve]:
    """A score of designs over time, energy or bits: means over runs, and their spread (`spread_in_words`).

    Args:
        designs: Ones that are drawn, of one panel.
        encoding: That of all designs.
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
    draw(axes, lines, found[score], over, encoding)
    for target in targets:
        axes.axhline(found[score].factor * target, color="#4a4a4a", linewidth=0.8, linestyle=":", zorder=1)
    return lines


def draw(axes: Axes, lines: Sequence[Curve], measure: Measure, over: str, encoding: Encoding) -> None:
    """Curves with their bands, axes and legend."""
    factor, (scale, words) = measure.factor, AXES[over]
    for line in lines:
        at, look = line.points["at"] / scale, encoding[line.name]
        label, looks = in_legend(encoding.labels[line.name]), look.line(len(at))
        axes.plot(at, factor * line.points["mean"], label=label, drawstyle="steps-post", **looks)
        _spread(axes, line, factor, scale, look.colour, with_bands=len(lines) <= MOST_BANDS)
        _still_running(axes, line, factor, scale, look.colour, with_words=len(lines) <= MOST_BANDS)
    axes.set(xlabel=words, ylabel=measure.label)
    axes.grid(alpha=0.3)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    points = pd.concat([line.points for line in lines]) if lines else pd.DataFrame({"mean": []})
    if is_logarithmic(measure, points["mean"]):
        logarithmic(axes, "y")
    elif measure.is_share and len(points):
        low, high = axes.dataLim.intervaly
        margin = 0.04 * (high - low) or 1.0
        axes.set_ylim(max(0.0, low - margin), min(100.0, high + margin))
    if len(lines) > 1:
        legend_above(axes, [encoding.labels[line.name] for line in lines])


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


def ended_in_words(lines: Sequence[Curve], most: int) -> str:
    """Caption about runs that ended before others of their design; nothing where none did.

    Args:
        most: Lines in the fullest panel.
    """
    if not any(len(ends(line)) for line in lines):
        return ""
    words = ", and how many are still running" if most <= MOST_BANDS else ""
    return f"Ticks: a run has ended there, and keeps its last value from then on{words}."


def spread_in_words(lines: Sequence[Curve], most: int) -> str:
    """Caption about the spread of runs in a drawing; nothing for designs with one run each.

    Args:
        most: Lines in the fullest panel.
    """
    with_bands, fewest = most <= MOST_BANDS, min(len(line.runs) for line in lines)
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
