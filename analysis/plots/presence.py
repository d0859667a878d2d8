"""Presence: clients that were present when edge rounds began, and what became of them."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from analysis.plots.encoding import COLOURS, DASHES
from analysis.plots.style import legend_above
from cosim.results.result import Result

COUNTS = {
    "there": "num_present",
    "wanted": "num_wanted",
    "took part": "num_participants",
    "arrived": "num_arrived",
}


def counts_of(result: Result) -> pd.DataFrame:
    """Counts of each edge round, sums over the cells that have run it, and when the first began."""
    rows = result.rounds[result.rounds["level"] == "edge"]
    rounds = rows.groupby(["global_round", "edge_round"])
    return rounds[list(COUNTS.values())].sum().assign(start_s=rounds["start_s"].min()).sort_values("start_s")


def presence_picture(axes: Axes, result: Result) -> None:
    """Clients of all cells over time: those there, wanted, taking part, arrived."""
    counts = counts_of(result)
    for place, (words, column) in enumerate(COUNTS.items()):
        looks: dict[str, Any] = {
            "color": COLOURS[place],
            "linestyle": DASHES[place],
            "drawstyle": "steps-post",
        }
        axes.plot(counts["start_s"], counts[column], label=words, **looks)
    axes.set_xlabel("beginning of the edge round (s)")
    axes.set_ylabel("clients of all cells")
    axes.set_ylim(bottom=0.0)
    legend_above(axes, COUNTS)
