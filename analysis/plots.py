"""Plots that a paper could print: units on axes, legends, readable in grey.

Usage::

    figure = overview(Result.load("runs/a"))
    figure.savefig("overview.png", dpi=150)
"""

from collections.abc import Iterator, Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from cosim.records import DONE, Measure
from cosim.results import Result

matplotlib.rcParams["hatch.linewidth"] = 0.6

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = "osD^vPX*"
COLOURS = ("#0b3c5d", "#d1495b", "#3a7d44", "#e08e0b", "#6a4c93", "#4a4a4a", "#1b9aaa", "#9b2226")
"""Dark to light in grey, and told apart by line and marker as well."""

_ACTIVITIES: dict[str, dict[str, Any]] = {
    "train": {"facecolor": "#0b3c5d", "edgecolor": "#0b3c5d"},
    "send": {"facecolor": "#9cc5e3", "edgecolor": "#0b3c5d", "hatch": "////"},
    "receive": {"facecolor": "#ffffff", "edgecolor": "#0b3c5d"},
}
_WAIT: dict[str, Any] = {"facecolor": "#dddddd", "edgecolor": "none"}
_CUT: dict[str, Any] = {
    "color": "#c1121f",
    "marker": "x",
    "linestyle": "none",
    "markersize": 5,
    "markeredgewidth": 1.4,
}


def overview(result: Result) -> Figure:
    """The global model over simulated time, and the timeline of one global round."""
    clients = result.transfers["client"].nunique()
    figure = Figure(figsize=(11.0, max(4.2, 1.8 + 0.16 * clients)), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    model_over_time(left, result)
    timeline(right, result, telling_round(result))
    return figure


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
    axes.set_xlabel("simulated time (s)")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(alpha=0.3)
    axes.set_title("Global model")


def is_logarithmic(measure: Measure, values: Any) -> bool:
    """Whether values of a measure are drawn on a logarithmic axis: errors are, unless one is 0 or less."""
    finite = np.asarray(values)[np.isfinite(values)]
    return not measure.higher_is_better and not measure.is_share and bool((finite > 0.0).all())


def telling_round(result: Result) -> int:
    """The first global round in which an update was dropped, or else the first."""
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    dropped = edge_rounds[edge_rounds["num_arrived"] < edge_rounds["num_participants"]]
    rounds = dropped if len(dropped) else edge_rounds
    return int(rounds["global_round"].min()) if len(rounds) else 1


def timeline(axes: Axes, result: Result, global_round: int) -> None:
    """Who computed, sent, waited and was cut off in one global round, client by client.

    What began before the round or ends after it is clipped.
    """
    rounds = result.rounds[result.rounds["global_round"] == global_round]
    whole = rounds[rounds["level"] == "global"]
    if whole.empty:
        axes.text(0.5, 0.5, f"global round {global_round} did not end", ha="center", transform=axes.transAxes)
        return
    start_s, end_s = float(whole["start_s"].iloc[0]), float(whole["end_s"].iloc[0])
    spans = result.spans[(result.spans["start_s"] < end_s) & (result.spans["end_s"] > start_s)]
    clients = sorted(name for name in spans["node"].unique() if name.startswith("client"))
    scale, unit = (1e3, "ms") if end_s - start_s < 1.0 else (1.0, "s")
    edge_of = dict(zip(result.fates["client"], result.fates["edge"], strict=True))
    for row, client in enumerate(clients):
        own = spans[spans["node"] == client].sort_values("start_s")
        axes.barh(row, scale * (end_s - start_s), left=0.0, height=0.25, **_WAIT)
        for span in own[own["activity"].isin(_ACTIVITIES)].itertuples():
            left_s, right_s = max(span.start_s, start_s) - start_s, min(span.end_s, end_s) - start_s
            looks = {"height": 0.8, "linewidth": 0.4, **_ACTIVITIES[str(span.activity)]}
            axes.barh(row, scale * (right_s - left_s), left=scale * left_s, **looks)
        ends_s = rounds[rounds["node"] == edge_of.get(client)]["end_s"]
        axes.vlines(scale * (ends_s - start_s), row - 0.5, row + 0.5, color="black", linewidth=1.0)
        if row and edge_of.get(client) != edge_of.get(clients[row - 1]):
            axes.axhline(row - 0.5, color="black", linewidth=0.5, linestyle=":")
        cut = own[(own["outcome"] != DONE) & (own["end_s"] <= end_s)]
        axes.plot(scale * (cut["end_s"] - start_s), [row] * len(cut), **_CUT)
    axes.set_yticks(
        range(len(clients)), [name.removeprefix("client-").lstrip("0") or "0" for name in clients]
    )
    axes.tick_params(axis="y", labelsize=7 if len(clients) < 40 else 5)
    axes.set_ylim(len(clients) - 0.4, -0.6)
    axes.set_xlim(0, scale * (end_s - start_s) * 1.005)
    axes.set_xlabel(f"time in global round {global_round} ({unit})")
    axes.set_ylabel("client (those who took part)")
    axes.set_title(f"Global round {global_round}, cell by cell", pad=26)
    axes.legend(
        handles=list(_legend()),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=5,
        fontsize=8,
        frameon=False,
    )


def _legend() -> Iterator[object]:
    yield Patch(label="trains", **_ACTIVITIES["train"])
    yield Patch(label="sends", **_ACTIVITIES["send"])
    yield Patch(label="waits", **_WAIT)
    yield Line2D([], [], label="cut off", **_CUT)
    yield Line2D([], [], label="edge round ends", color="black", linewidth=1.0, marker="|", linestyle="none")


def style(index: int, num_points: int) -> dict[str, Any]:
    """How the line of an index looks; about ten of its points carry a marker."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": LINES[(index + index // len(COLOURS)) % len(LINES)],
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 3.5,
        "markevery": max(1, num_points // 12),
        "linewidth": 1.2,
    }


def curves(axes: Axes, lines: Mapping[str, tuple[Any, Any]], x_label: str) -> None:
    """Test accuracy over something, a line per label, told apart by dash and marker as well as by colour."""
    for index, (label, (x, accuracy)) in enumerate(lines.items()):
        axes.plot(x, 100 * accuracy, label=label, **style(index, len(x)))
    axes.set_xlabel(x_label)
    axes.set_ylabel("test accuracy (%)")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)


def bars(axes: Axes, groups: dict[str, dict[str, float | None]], y_label: str) -> None:
    """Bars by group label and series label; what was not reached is marked so."""
    series = list(dict.fromkeys(label for values in groups.values() for label in values))
    width = 0.8 / len(series)
    for index, label in enumerate(series):
        heights = [values.get(label) for values in groups.values()]
        places = [place + (index - (len(series) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(
            places,
            [height or 0.0 for height in heights],
            width=0.9 * width,
            label=label,
            facecolor=(COLOURS[0], "white", "#9cc5e3", "white")[index % 4],
            edgecolor=COLOURS[0],
            hatch=(None, "////", None, None)[index % 4],
        )
        for place, height in zip(places, heights, strict=True):
            text = "not\nreached" if height is None else f"{height:.3g}"
            axes.annotate(text, (place, height or 0.0), ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.margins(y=0.12)
    axes.set_ylabel(y_label)
    axes.legend(fontsize=8)
