"""Asynchronous: what an asynchronous server has applied, how stale it was, and whose it was."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.plots.encoding import COLOURS, DASHES
from analysis.plots.style import legend_above
from cosim.names import by_number
from cosim.results.result import Result

_MOST_BARS = 60


def versions_picture(axes: Axes, result: Result) -> None:
    """Versions of each asynchronous server's model over simulated time, of at most six servers."""
    servers = list(result.versions.groupby("server"))[: len(DASHES)]
    for (server, own), look, colour in zip(servers, DASHES, COLOURS, strict=False):
        axes.step(
            own["time_s"], own["version"], where="post", color=colour, linestyle=look, label=str(server)
        )
    axes.set_xlabel("simulated time (s)")
    axes.set_ylabel("version of the model")
    axes.set_ylim(bottom=0)
    if len(servers) > 1:
        legend_above(axes, [str(server) for server, _ in servers])


def staleness_picture(axes: Axes, result: Result) -> None:
    """How many versions were made between an update's start and its application."""
    _check_updates(result)
    staleness = result.updates["staleness"].to_numpy()
    longest = int(staleness.max())
    width = max(1, -(-(longest + 1) // _MOST_BARS))
    edges = np.arange(0, longest + width + 1, width)
    counts, _ = np.histogram(staleness, edges)
    shares = 100.0 * counts / len(staleness)
    axes.bar(edges[:-1] + (width - 1) / 2, shares, 0.9 * width, facecolor="#9cc5e3", edgecolor=COLOURS[0])
    mean = staleness.mean()
    axes.axvline(mean, color=COLOURS[0], linestyle="--", label=f"mean {mean:.3g}")
    axes.set_xlabel("staleness (versions)")
    axes.set_ylabel("applied updates (%)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_above(axes, [f"mean {mean:.3g}"])


def contributions_picture(axes: Axes, result: Result) -> None:
    """Which part of the applied updates, and of their weights, comes from the fastest clients."""
    _check_updates(result)
    by_client = result.updates.groupby("client")["weight"]
    for name, values, look in (
        ("updates", by_client.size(), "-"),
        ("weights", by_client.sum(), "--"),
    ):
        largest = np.sort(values.to_numpy())[::-1]
        parts = np.concatenate(([0.0], 100.0 * np.cumsum(largest) / largest.sum()))
        axes.plot(np.linspace(0.0, 100.0, len(parts)), parts, look, color=COLOURS[0], label=name)
    axes.plot([0.0, 100.0], [0.0, 100.0], ":", color="#4a4a4a", label="all alike")
    axes.set_xlabel("clients that contribute most (%)")
    axes.set_ylabel("what comes from them (%)")
    axes.set_xlim(0.0, 100.0)
    axes.set_ylim(0.0, 100.0)
    legend_above(axes, ["updates", "weights", "all alike"])


def _check_updates(result: Result) -> None:
    """Refuse a run without applied updates.

    Raises:
        ValueError: It has none.
    """
    if result.updates.empty:
        raise ValueError("no update was applied.")


def speed_picture(axes: Axes, result: Result) -> None:
    """Applied updates of each client, or of each cell that is one, over how long its jobs take."""
    found = by_client(result)
    longest_s = float(found["mean_job_s"].max())
    scale, unit = (1e3, "ms") if longest_s < 1.0 else (1.0, "s")
    axes.plot(
        scale * found["mean_job_s"], found["num_updates"], "o", color=COLOURS[0], markersize=3.5, alpha=0.7
    )
    axes.set_xlabel(f"mean time of a job ({unit})")
    axes.set_ylabel("applied updates")
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)


def by_client(result: Result) -> pd.DataFrame:
    """Updates of each client, or of each cell that trains as one; most updates first, then by number.

    Columns: edge, num_updates, weight (their sum), mean_job_s, mean_staleness, sent_bits, energy_j.
    """
    grouped = result.updates.assign(job_s=result.updates["arrival_s"] - result.updates["start_s"])
    grouped = grouped.groupby("client")
    found = grouped[["weight", "sent_bits", "energy_j"]].sum()
    found.insert(0, "edge", grouped["edge"].first())
    found.insert(1, "num_updates", grouped.size())
    found["mean_job_s"], found["mean_staleness"] = grouped["job_s"].mean(), grouped["staleness"].mean()
    found = found.loc[sorted(found.index, key=by_number)]
    return found.sort_values("num_updates", ascending=False, kind="stable")
