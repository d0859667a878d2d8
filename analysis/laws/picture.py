"""Picture: every number's interval, and wrong theories beside it, over the closed form's number.

Of one law every wrong theory has a marker of its own, and verdicts stand on the right. Of several laws wrong
theories look alike, and numbers in which nothing is random are left out.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from analysis.laws.comparison import CLOSED_FORM
from analysis.plots.encoding import COLOURS, MARKERS
from analysis.plots.style import plain

CLOCK, WRONG = "clock, interval", "wrong theory"
_INK, _CLOCK, _WRONG = "#4a4a4a", "#0b3c5d", "#d1495b"


def drawn(points: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """The picture.

    Args:
        points: Rows of `analysis.laws.comparison`.
        titles: Law -> its title.
    """
    alone = points["law"].nunique() == 1
    shown = points[points["predicted"].where(points["theory"] == CLOSED_FORM, 1.0) != 0.0]
    shown = shown if alone else shown[shown["method"] != "exact"]
    right = shown[shown["theory"] == CLOSED_FORM].reset_index(drop=True)
    height_in = 1.5 + 0.35 * len(right) if alone else 1.0 + 0.19 * len(right)
    figure = Figure(figsize=(7.2, height_in), layout="constrained")
    axes = figure.subplots()
    right["place"] = np.arange(len(right))[::-1]
    axes.axvline(1.0, color=_INK, linewidth=0.8)
    _draw_clock(axes, right)
    keys = ["law", "quantity"]
    wrong = shown[shown["theory"] != CLOSED_FORM].merge(
        right[[*keys, "predicted", "place"]], on=keys, suffixes=("", "_right")
    )
    wrong["ratio"] = wrong["predicted"] / wrong["predicted_right"]
    _draw_wrong(axes, wrong, alone)
    labels = right["quantity"] if alone else right["law"].map(titles) + ": " + right["quantity"]
    axes.set_yticks(right["place"], [plain(label) for label in labels], fontsize=8 if alone else 6)
    if alone:
        axes.set_title(plain(titles[str(points["law"].iloc[0])]), fontsize=9, loc="left")
        beside = axes.secondary_yaxis("right")
        beside.set_yticks(right["place"], right["verdict"], fontsize=8)
        beside.tick_params(length=0)
    axes.set(xlabel="over the closed form's number", ylim=(-1.0, len(right)))
    axes.grid(alpha=0.3, axis="x")
    figure.legend(fontsize=7, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_clock(axes: Axes, right: pd.DataFrame) -> None:
    theory = right["predicted"].to_numpy()
    ends = np.sort(right[["low", "high"]].to_numpy() / theory[:, None], axis=1)
    estimate = right["estimate"].to_numpy() / theory
    errors = np.nan_to_num(np.abs(ends.T - estimate), posinf=0.0)
    look = {"fmt": "o", "markersize": 3.0, "capsize": 2.0, "elinewidth": 1.0, "color": _CLOCK}
    axes.errorbar(estimate, right["place"], xerr=errors, label=CLOCK, **look)


def _draw_wrong(axes: Axes, wrong: pd.DataFrame, alone: bool) -> None:
    """Wrong theories, by marker if they are of one law; on a logarithmic axis if all are above 0."""
    groups = wrong.groupby("theory", sort=False) if alone else [(WRONG, wrong)]
    for index, (theory, own) in enumerate(groups, start=1):
        marker, colour = MARKERS[index % len(MARKERS)], COLOURS[index % len(COLOURS)]
        marker, colour = (marker, colour) if alone else ("x", _WRONG)
        named = {"label": plain(str(theory)), "linestyle": "none", "markersize": 4.5}
        axes.plot(own["ratio"], own["place"], marker=marker, color=colour, **named)
    seen = np.append(wrong["ratio"].to_numpy(), axes.dataLim.intervalx)
    seen = np.append(seen[np.isfinite(seen)], [0.5, 2.0])
    if (seen > 0.0).all():
        axes.set(xscale="log", xlim=(0.95 * seen.min(), 1.05 * seen.max()))
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
        axes.minorticks_off()
