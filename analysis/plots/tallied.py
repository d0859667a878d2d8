"""Tallied: a run that keeps a row for each edge round and none for its clients."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.activities import in_words
from analysis.plots.bars import stacked
from analysis.plots.style import COLOURS, legend_above, looks_of
from cosim.engine.store.results import Result
from cosim.records.rows import NO_ROUND, REST

_NUM_STEPS = 1_000
"""Of a curve, however many rounds there are."""

_NUM_PARTS = 5
"""Of a run."""


def tallied_overview(result: Result) -> Figure:
    """How long edge rounds and uploads last, what is spent on what, and how many come too late."""
    figure = Figure(figsize=(11.0, 3.8), layout="constrained")
    times, energy, late = figure.subplots(1, 3, width_ratios=(5, 4, 5))
    times_picture(times, result)
    energy_picture(energy, result)
    late_picture(late, result)
    return figure


def edge_rounds_of(result: Result) -> pd.DataFrame:
    """Tallies but for the rest of everyone at the end of a run, which is no round."""
    return result.tallies[result.tallies["edge_round"] != NO_ROUND]


def times_picture(axes: Axes, result: Result) -> None:
    """Distributions over edge rounds: how long they last, and quantiles of their uploads."""
    told = edge_rounds_of(result)
    curves = {
        "edge round": told["end_s"] - told["start_s"],
        "slowest upload in it": told["upload_max_s"],
        "90 % of its uploads": told["upload_p90_s"],
        "half of its uploads": told["upload_p50_s"],
    }
    looks: list[dict[str, Any]] = [
        {"linestyle": "-"},
        {"linestyle": "-."},
        {"linestyle": "--"},
        {"linestyle": ":"},
    ]
    curves = {name: known for name, values in curves.items() if len(known := values.dropna())}
    scale, unit = (1e3, "ms") if max(map(max, curves.values()), default=1.0) < 1.0 else (1.0, "s")
    for index, (name, values) in enumerate(curves.items()):
        shares = np.linspace(0.0, 1.0, min(max(len(values), 2), _NUM_STEPS))
        at = scale * np.quantile(values, shares)
        axes.plot(at, 100.0 * shares, label=name, color=COLOURS[index], **looks[index])
    axes.set_xlabel(f"lasts at most ({unit})")
    axes.set_ylabel("share of edge rounds (%)")
    axes.set_xlim(left=0.0)
    legend_above(axes, curves)


def energy_picture(axes: Axes, result: Result) -> None:
    """Energy by activity, each fifth of the run beneath the one before."""
    told, columns = result.tallies, {"train": "train_j", "send": "send_j"}
    if told["receive_j"].any():
        columns = {"receive": "receive_j"} | columns
    columns |= {name: f"{name}_j" for name in ("wait", *REST[:2]) if told[f"{name}_j"].any()}
    num_rounds = edge_rounds_of(result)["global_round"].nunique()
    last_s, num_parts = told["end_s"].max(), min(_NUM_PARTS, num_rounds)
    part = np.ceil(told["end_s"] / last_s * num_parts).clip(1, num_parts)
    scale, unit = (1e3, "kJ") if result.summary.energy_j >= 1e4 else (1.0, "J")
    words = {activity: in_words(activity) for activity in columns}
    rows = {
        f"{(number - 1) / num_parts * last_s:,.4g} to {number / num_parts * last_s:,.4g} s": {
            words[activity]: own[column].sum() / scale for activity, column in columns.items()
        }
        for number, own in told.groupby(part)
    }
    stacked(axes, rows, looks_of(words.values()), f"energy of all clients ({unit})")
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter("{x:,.5g}")


def late_picture(axes: Axes, result: Result) -> None:
    """Share of updates that do not count, by global round: median edge round, and nine tenths of them."""
    told = edge_rounds_of(result)
    late = 100.0 * (1.0 - told["num_arrived"] / told["num_participants"].clip(lower=1))
    by_round = late.groupby(told["global_round"])
    rounds = np.array(sorted(by_round.groups))
    low, median, high = (by_round.quantile(q).loc[rounds].to_numpy() for q in (0.05, 0.5, 0.95))
    looks = {"color": COLOURS[0], "marker": "o", "markersize": 3.5, "clip_on": False}
    axes.plot(rounds, median, label="median edge round", **looks)
    band = {"color": "#9cc5e3", "alpha": 0.6, "linewidth": 0.0, "label": "nine tenths of them"}
    wide = np.concatenate([[rounds[0] - 0.5], rounds, [rounds[-1] + 0.5]])
    axes.fill_between(wide, np.pad(low, 1, "edge"), np.pad(high, 1, "edge"), **band)
    axes.set_xlim(wide[0], wide[-1])
    axes.set_xlabel("global round")
    axes.set_ylabel("updates that do not count (%)")
    axes.set_ylim(0.0, max(1.0, 1.05 * high.max()))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    legend_above(axes, ["median edge round", "nine tenths of them"])
