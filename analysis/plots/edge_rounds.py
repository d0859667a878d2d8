"""Edge rounds: how long they last, what they cost, and how many updates come too late.

A run that keeps a row for each edge round and none for its clients says how long uploads last, from the end
of training; of one that keeps rows of its clients jobs are drawn, from their start.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.activities import in_words
from analysis.plots.bars import stacked
from analysis.plots.encoding import COLOURS, DASHES
from analysis.plots.style import legend_above, looks_of
from cosim.records.rows import NO_ROUND, REST
from cosim.results.result import Result

_NUM_STEPS = 1_000
"""Of a curve, however many rounds there are."""

_NUM_PARTS = 5
"""Of a run."""

_ROUND = ["edge", "global_round", "edge_round"]


def edge_rounds_of(result: Result) -> pd.DataFrame:
    """Tallies but for the rest of all clients at the end of a run, which is no round."""
    return result.tallies[result.tallies["edge_round"] != NO_ROUND]


def times_picture(axes: Axes, result: Result) -> None:
    """Distributions over edge rounds: how long they last, and quantiles of their uploads or jobs."""
    curves = _of_uploads(result) if len(result.tallies) else _of_jobs(result)
    curves = {name: known for name, values in curves.items() if len(known := values.dropna())}
    longest_s = max(map(max, curves.values()), default=1.0)
    scale, unit = (1e-3, "ms") if longest_s < 1.0 else (1.0, "s")
    for index, (name, values) in enumerate(curves.items()):
        shares = np.linspace(0.0, 1.0, min(max(len(values), 2), _NUM_STEPS))
        at = np.quantile(values, shares) / scale
        axes.plot(at, 100.0 * shares, label=name, color=COLOURS[index], linestyle=DASHES[index])
    axes.set_xlabel(f"lasts at most ({unit})")
    axes.set_ylabel("share of edge rounds (%)")
    axes.set_xlim(left=0.0)
    legend_above(axes, curves)


def _of_uploads(result: Result) -> dict[str, pd.Series]:
    told = edge_rounds_of(result)
    return {
        "edge round": told["end_s"] - told["start_s"],
        "slowest upload in it": told["upload_max_s"],
        "90 % of its uploads": told["upload_p90_s"],
        "half of its uploads": told["upload_p50_s"],
    }


def _of_jobs(result: Result) -> dict[str, pd.Series]:
    told, jobs = _edge_level(result), result.fates
    of_round = (jobs["end_s"] - jobs["start_s"]).groupby([jobs[name] for name in _ROUND])
    return {
        "edge round": told["end_s"] - told["start_s"],
        "slowest job in it": of_round.max(),
        "90 % of its jobs": of_round.quantile(0.9),
        "half of its jobs": of_round.quantile(0.5),
    }


def energy_picture(axes: Axes, result: Result) -> None:
    """Energy by activity, each fifth of the run beneath the one before."""
    spent = _spent(result)
    num_parts = max(1, min(_NUM_PARTS, _edge_level(result)["global_round"].nunique()))
    last_s = spent["end_s"].max()
    part = np.ceil(spent["end_s"] / last_s * num_parts).clip(1, num_parts)
    scale, unit = (1e3, "kJ") if result.summary.energy_j >= 1e4 else (1.0, "J")
    by_part = spent.groupby([part, "activity"])["energy_j"].sum() / scale
    rows = {
        f"{(number - 1) / num_parts * last_s:,.4g} to {number / num_parts * last_s:,.4g} s": {
            str(activity): float(own) for activity, own in by_part.loc[number].items()
        }
        for number in sorted(part.unique())
    }
    stacked(axes, rows, looks_of(spent["activity"].unique()), f"energy of all clients ({unit})")
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter("{x:,.5g}")


def _spent(result: Result) -> pd.DataFrame:
    """Energy of clients: columns end_s, activity (in words), energy_j, without activities that took none."""
    if len(told := result.tallies):
        columns = {f"{name}_j": in_words(name) for name in ("receive", "train", "send", "wait", *REST[:2])}
        spent = told.rename(columns=columns).melt(["end_s"], [*columns.values()], "activity", "energy_j")
    else:
        own = result.spans[result.spans["node"].str.startswith("client")]
        spent = own[["end_s", "energy_j"]].assign(activity=own["activity"].map(in_words))
    known = spent.groupby("activity")["energy_j"].sum()
    return spent[spent["activity"].isin(known.index[known > 0.0])]


def _edge_level(result: Result) -> pd.DataFrame:
    return result.rounds[result.rounds["level"] == "edge"]


def late_picture(axes: Axes, result: Result) -> None:
    """Share of updates that do not count, by global round: median edge round, and nine tenths of them.

    Raises:
        ValueError: The run has no edge rounds.
    """
    told = _edge_level(result)
    if told.empty:
        raise ValueError("the run has no edge rounds.")
    late = 100.0 * (1.0 - told["num_arrived"] / told["num_participants"].clip(lower=1))
    by_round = late.groupby(told["global_round"])
    rounds = np.array(sorted(by_round.groups))
    low, median, high = (by_round.quantile(q).loc[rounds].to_numpy() for q in (0.05, 0.5, 0.95))
    looks = {"color": COLOURS[0], "marker": "o", "markersize": 3.5, "clip_on": False}
    axes.plot(rounds, median, label="median edge round", **looks)
    band: dict[str, Any] = {
        "color": "#9cc5e3",
        "alpha": 0.6,
        "linewidth": 0.0,
        "label": "nine tenths of them",
    }
    wide = np.concatenate([[rounds[0] - 0.5], rounds, [rounds[-1] + 0.5]])
    axes.fill_between(wide, np.pad(low, 1, "edge"), np.pad(high, 1, "edge"), **band)
    axes.set_xlim(wide[0], wide[-1])
    axes.set_xlabel("global round")
    axes.set_ylabel("updates that do not count (%)")
    axes.set_ylim(0.0, max(1.0, 1.05 * high.max()))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    legend_above(axes, ["median edge round", "nine tenths of them"])
