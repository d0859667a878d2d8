"""One global round: who did what in it, client by client, or how many of many; and the overview of a run.

Scope and limitations: of more clients than rows, those are chosen who ended an edge round, and others evenly
by number; of more than 200 the clients at each activity are counted, at 400 instants.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.activities import IDLE, in_words
from analysis.critical_path import CriticalPath
from analysis.fates import keeps_clients
from analysis.plots.asynchronous import asynchronous_overview
from analysis.plots.model import model_over_time
from analysis.plots.style import Looks, legend_above, looks_of, plain
from analysis.plots.tallied import tallied_overview
from cosim.names import by_number
from cosim.records import DONE
from cosim.results import Result

MOST_ROWS = 24
MOST_IN_ROWS = 200
_INSTANTS = 400
_CUT: dict[str, Any] = {
    "color": "#c1121f",
    "marker": "x",
    "linestyle": "none",
    "markersize": 5,
    "markeredgewidth": 1.4,
}


def overview(result: Result) -> Figure:
    """The global model over simulated time, if anything was learned, and one global round.

    Of a run that keeps no rows of its clients: its edge rounds. Of one without rounds: its applied updates.
    """
    if len(result.tallies):
        return tallied_overview(result)
    if len(result.updates) and not result.summary.num_global_rounds:
        return asynchronous_overview(result)
    with matplotlib.rc_context({"legend.fontsize": 8}):
        clients = _num_clients(result)
        rows = 0 if clients > MOST_IN_ROWS else min(clients, MOST_ROWS)
        learned = result.summary.headline is not None
        size = (11.0 if learned else 7.0, max(4.2, 1.8 + 0.16 * rows))
        figure = Figure(figsize=size, layout="constrained")
        if learned:
            left, right = figure.subplots(1, 2, width_ratios=(2, 3))
            model_over_time(left, result)
            left.set_box_aspect(0.85)
            left.set_anchor("N")
        else:
            right = figure.subplots()
        round_picture(right, result, telling_round(result))
    return figure


def telling_round(result: Result) -> int:
    """The first global round in which an update was dropped, or else the first."""
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    dropped = edge_rounds[edge_rounds["num_arrived"] < edge_rounds["num_participants"]]
    rounds = dropped if len(dropped) else edge_rounds
    return int(rounds["global_round"].min()) if len(rounds) else 1


def round_picture(axes: Axes, result: Result, global_round: int) -> None:
    """A global round client by client, or how many of many did what; words, where no rows were kept."""
    if not keeps_clients(result):
        axes.text(0.5, 0.5, "no rows of clients were kept", ha="center", transform=axes.transAxes)
        return
    draw = timeline if _num_clients(result) <= MOST_IN_ROWS else density
    draw(axes, result, global_round)


def timeline(axes: Axes, result: Result, global_round: int, most_rows: int = MOST_ROWS) -> None:
    """Who computed, sent, waited and was cut off in one global round, client by client.

    What began before the round or ends after it is clipped.
    """
    if (own := _of_round(axes, result, global_round)) is None:
        return
    start_s, end_s = own.start_s, own.end_s
    clients, scale = _chosen(result, own, most_rows), own.scale
    edge_of = dict(zip(result.fates["client"], result.fates["edge"], strict=True))
    spans = own.spans[own.spans["node"].isin(clients)]
    looks = looks_of(spans["doing"])
    idle = looks_of([IDLE])
    for row, client in enumerate(clients):
        axes.barh(row, scale * (end_s - start_s), left=0.0, height=0.25, **idle[IDLE])
        mine = spans[spans["node"] == client]
        left_s, right_s = mine["start_s"].clip(lower=start_s), mine["end_s"].clip(upper=end_s)
        for doing, begun_s, done_s in zip(mine["doing"], left_s - start_s, right_s - start_s, strict=True):
            drawn = {"height": 0.8, "linewidth": 0.4, **looks[doing]}
            axes.barh(row, scale * (done_s - begun_s), left=scale * begun_s, **drawn)
        ends_s = own.rounds[own.rounds["node"] == edge_of.get(client)]["end_s"]
        axes.vlines(scale * (ends_s - start_s), row - 0.5, row + 0.5, color="black", linewidth=1.0)
        if row and edge_of.get(client) != edge_of.get(clients[row - 1]):
            axes.axhline(row - 0.5, color="black", linewidth=0.5, linestyle=":")
        cut = mine[(mine["outcome"] != DONE) & (mine["end_s"] <= end_s)]
        axes.plot(scale * (cut["end_s"] - start_s), [row] * len(cut), **_CUT)
    names = [name.removeprefix("client-").lstrip("0") or "0" for name in clients]
    axes.set_yticks(range(len(clients)), [plain(name) for name in names])
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylim(len(clients) - 0.4, -0.6)
    axes.set_xlim(0, scale * (end_s - start_s) * 1.005)
    axes.set_xlabel(f"time in global round {global_round} ({own.unit})")
    taken = own.spans["node"].nunique()
    axes.set_ylabel("client" if len(clients) == taken else f"{len(clients)} of {taken:,} clients")
    handles = list(_legend(looks | idle))
    legend_above(axes, [handle.get_label() for handle in handles], handles=handles)


def density(axes: Axes, result: Result, global_round: int) -> None:
    """How many clients did what over the time of one global round."""
    if (own := _of_round(axes, result, global_round)) is None:
        return
    at_s = np.linspace(own.start_s, own.end_s, _INSTANTS + 1)
    middles_s = (at_s[:-1] + at_s[1:]) / 2.0
    looks = looks_of(own.spans["doing"])
    taken = own.spans["node"].nunique()
    below = np.zeros(len(middles_s))
    for doing in looks:
        spans = own.spans[own.spans["doing"] == doing]
        starts, ends = np.sort(spans["start_s"].to_numpy()), np.sort(spans["end_s"].to_numpy())
        count = np.searchsorted(starts, middles_s, "right") - np.searchsorted(ends, middles_s, "right")
        axes.stairs(
            below + count,
            own.scale * (at_s - own.start_s),
            baseline=below,
            fill=True,
            linewidth=0.0,
            **looks[doing],
        )
        below = below + count
    axes.set_xlim(0, own.scale * (own.end_s - own.start_s))
    axes.set_ylim(0, taken)
    axes.set_xlabel(f"time in global round {global_round} ({own.unit})")
    axes.set_ylabel("clients who took part")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    legend_above(axes, looks, handles=[Patch(label=plain(doing), **own) for doing, own in looks.items()])


@attrs.frozen(kw_only=True)
class _OfRound:
    """Rows of one global round: the clients' spans with `doing`, and how its time is shown."""

    start_s: float
    end_s: float
    rounds: pd.DataFrame
    spans: pd.DataFrame
    scale: float
    unit: str


def _of_round(axes: Axes, result: Result, global_round: int) -> _OfRound | None:
    """The rows of a round; None, and the picture says so, where it did not end."""
    rounds = result.rounds[result.rounds["global_round"] == global_round]
    whole = rounds[rounds["level"] == "global"]
    if whole.empty:
        axes.text(0.5, 0.5, f"global round {global_round} did not end", ha="center", transform=axes.transAxes)
        return None
    start_s, end_s = float(whole["start_s"].iloc[0]), float(whole["end_s"].iloc[0])
    spans = result.spans[(result.spans["start_s"] < end_s) & (result.spans["end_s"] > start_s)]
    spans = spans[spans["node"].str.startswith("client")].sort_values("start_s", kind="stable")
    scale, unit = (1e3, "ms") if end_s - start_s < 1.0 else (1.0, "s")
    spans = spans.assign(doing=spans["activity"].map(in_words))
    return _OfRound(start_s=start_s, end_s=end_s, rounds=rounds, spans=spans, scale=scale, unit=unit)


def _chosen(result: Result, own: _OfRound, most_rows: int) -> Sequence[str]:
    """Clients that have rows, by number: those who ended an edge round, and others evenly."""
    clients = sorted(own.spans["node"].unique(), key=by_number)
    if len(clients) <= most_rows:
        return clients
    number = own.rounds["global_round"].iloc[0]
    fates = result.fates[result.fates["global_round"] == number]
    path = CriticalPath.of(result.with_tables(rounds=own.rounds, spans=own.spans, fates=fates))
    chosen = [name for name in dict.fromkeys(path.edge_rounds["ended_by"]) if name in clients][:most_rows]
    others = [name for name in clients if name not in chosen]
    places = np.linspace(0, len(others) - 1, most_rows - len(chosen)).round().astype(int)
    return sorted([*chosen, *(others[place] for place in places)], key=by_number)


def _num_clients(result: Result) -> int:
    """Clients that took part in the round that is drawn, at most."""
    return int(result.fates["client"].nunique())


def _legend(looks: dict[str, Looks]) -> Iterator[Any]:
    for doing, own in looks.items():
        yield Patch(label=plain(doing), **own)
    yield Line2D([], [], label="cut off", **_CUT)
    yield Line2D([], [], label="edge round ends", color="black", linewidth=1.0, marker="|", linestyle="none")
