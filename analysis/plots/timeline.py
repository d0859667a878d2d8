"""Timeline: what each client did, or how many of many clients did it.

It is that of one global round, or, where the global model has versions and no rounds, of a stretch about the
middle of the run that is twice as long as nine of ten jobs.

Scope and limitations: of more clients than rows, the clients that ended an edge round are chosen, and others
evenly by number; of more than 200 the clients at each activity are counted, at 400 instants.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.activities import in_words
from analysis.critical_path import CriticalPath
from analysis.fates import keeps_clients
from analysis.plots.style import Looks, legend_above, looks_of, plain
from cosim.names import by_number
from cosim.records.rows import DONE
from cosim.results.result import Result

MOST_ROWS = 24
MOST_IN_ROWS = 200
_INSTANTS = 400
_PIXELS_PER_INCH = 100.0
"""Of the coarsest picture: no activity is drawn shorter than one of these."""
_CUT: dict[str, Any] = {
    "color": "#c1121f",
    "marker": "x",
    "linestyle": "none",
    "markersize": 5,
    "markeredgewidth": 1.4,
}


def telling_round(result: Result) -> int | None:
    """The first global round in which an update was dropped, or else the first; None where there are none."""
    if not result.has_rounds:
        return None
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    dropped = edge_rounds[edge_rounds["num_arrived"] < edge_rounds["num_participants"]]
    rounds = dropped if len(dropped) else edge_rounds
    return int(rounds["global_round"].min()) if len(rounds) else 1


def round_picture(axes: Axes, result: Result, global_round: int | None) -> None:
    """A global round client by client, or how many of many did what; words, where no rows were kept.

    Args:
        global_round: Number of the round. None means a stretch of a run without rounds.
    """
    if not keeps_clients(result):
        axes.text(0.5, 0.5, "no rows of clients were kept", ha="center", transform=axes.transAxes)
        return
    draw = timeline if num_clients(result) <= MOST_IN_ROWS else density
    draw(axes, result, global_round)


def num_clients(result: Result) -> int:
    """Clients in the drawing, at most: the ones that took part, or all where devices rest."""
    nodes = result.spans["node"].unique()
    return sum(node.startswith("client") for node in nodes)


def timeline(axes: Axes, result: Result, global_round: int | None, most_rows: int = MOST_ROWS) -> None:
    """Draw what each client did in one global round or stretch: compute, send, wait, be cut off.

    What began before it or ends after it is clipped.
    """
    if (own := _window(axes, result, global_round)) is None:
        return
    start_s, end_s = own.start_s, own.end_s
    clients, scale = _chosen(result, own, most_rows), own.scale
    edge_of = dict(zip(result.fates["client"], result.fates["edge"], strict=True))
    spans = own.spans[own.spans["node"].isin(clients)]
    looks, least_s = looks_of(spans["doing"]), (end_s - start_s) * _least_share(axes)
    left_s, right_s = (spans[side].clip(start_s, end_s) - start_s for side in ("start_s", "end_s"))
    rows = spans["node"].map({client: row for row, client in enumerate(clients)})
    for doing, look in looks.items():
        is_drawn = spans["doing"] == doing
        widths = (right_s - left_s)[is_drawn].clip(lower=least_s)
        drawn = {"height": 0.8, "linewidth": 0.6, **look}
        axes.barh(rows[is_drawn], scale * widths, left=scale * left_s[is_drawn], **drawn)
    for row, client in enumerate(clients):
        mine = spans[spans["node"] == client]
        marks_s = own.marks_s(client, edge_of.get(client))
        axes.vlines(scale * (marks_s - start_s), row - 0.5, row + 0.5, color="black", linewidth=1.0)
        if row and edge_of.get(client) != edge_of.get(clients[row - 1]):
            axes.axhline(row - 0.5, color="black", linewidth=0.5, linestyle=":")
        cut = mine[(mine["outcome"] != DONE) & (mine["end_s"] <= end_s)]
        axes.plot(scale * (cut["end_s"] - start_s), [row] * len(cut), **_CUT)
    names = [name.removeprefix("client-").lstrip("0") or "0" for name in clients]
    axes.set_yticks(range(len(clients)), [plain(name) for name in names])
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylim(len(clients) - 0.4, -0.6)
    axes.set_xlim(0, scale * (end_s - start_s) * 1.005)
    axes.set_xlabel(own.x_label)
    taken = own.spans["node"].nunique()
    axes.set_ylabel("client" if len(clients) == taken else f"{len(clients)} of {taken:,} clients")
    handles = list(_legend(looks, own.mark))
    legend_above(axes, [handle.get_label() for handle in handles], handles=handles)


def _least_share(axes: Axes) -> float:
    """Least length of an activity that is seen, as a part of the time that is drawn."""
    figure = axes.get_figure(root=True)
    return 1.0 / (_PIXELS_PER_INCH * axes.get_position().width * (figure.get_figwidth() if figure else 1.0))


def density(axes: Axes, result: Result, global_round: int | None) -> None:
    """How many clients did what over the time of one global round or stretch."""
    if (own := _window(axes, result, global_round)) is None:
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
    axes.set_xlabel(own.x_label)
    axes.set_ylabel("clients")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    legend_above(axes, looks, handles=[Patch(label=plain(doing), **own) for doing, own in looks.items()])


@attrs.frozen(kw_only=True)
class _Window:
    """Rows of a time that is drawn.

    Attributes:
        rounds: Edge rounds and the global round, where it is one.
        applied: Updates that servers have applied.
        spans: The clients', with `doing`.
        x_label: Of its time.
        scale: Of its time, in parts of a second.
    """

    start_s: float
    end_s: float
    rounds: pd.DataFrame
    applied: pd.DataFrame
    spans: pd.DataFrame
    x_label: str
    scale: float

    @property
    def mark(self) -> str:
        """Meaning of a line across the row of a client."""
        return "update applied" if len(self.applied) else "edge round ends"

    def marks_s(self, client: str, edge: str | None) -> np.ndarray:
        """When an update of it, or of its cell, was applied; else when edge rounds of its cell ended."""
        if len(self.applied):
            return self.applied.loc[self.applied["client"].isin([client, edge]), "applied_s"].to_numpy()
        return self.rounds.loc[self.rounds["node"] == edge, "end_s"].to_numpy()


def _window(axes: Axes, result: Result, global_round: int | None) -> _Window | None:
    """The rows of a round or a stretch; None, and the picture says so, where the round did not end."""
    rounds = result.rounds[result.rounds["global_round"] == global_round]
    whole = rounds[rounds["level"] == "global"]
    if global_round is None:
        start_s, end_s = _stretch(result)
    elif whole.empty:
        axes.text(0.5, 0.5, f"global round {global_round} did not end", ha="center", transform=axes.transAxes)
        return None
    else:
        start_s, end_s = float(whole["start_s"].iloc[0]), float(whole["end_s"].iloc[0])
    spans = result.spans[(result.spans["start_s"] < end_s) & (result.spans["end_s"] > start_s)]
    spans = spans[spans["node"].str.startswith("client")].sort_values("start_s", kind="stable")
    scale, unit = (1e3, "ms") if end_s - start_s < 1.0 else (1.0, "s")
    since = f"since {start_s:.4g} s" if global_round is None else f"in global round {global_round}"
    return _Window(
        start_s=start_s,
        end_s=end_s,
        rounds=rounds,
        applied=result.updates[result.updates["applied_s"].between(start_s, end_s)],
        spans=spans.assign(doing=spans["activity"].map(in_words)),
        x_label=f"time {since} ({unit})",
        scale=scale,
    )


def _stretch(result: Result) -> tuple[float, float]:
    """Start and end of what is drawn of a run without rounds."""
    jobs, time_s = result.fates[result.fates["outcome"] == DONE], result.summary.time_s
    length_s = min(time_s, 2.0 * float((jobs["end_s"] - jobs["start_s"]).quantile(0.9)))
    return (time_s - length_s) / 2.0, (time_s + length_s) / 2.0


def _chosen(result: Result, own: _Window, most_rows: int) -> Sequence[str]:
    """Clients that have rows, by number: the ones that ended an edge round, and others evenly."""
    clients = sorted(own.spans["node"].unique(), key=by_number)
    if len(clients) <= most_rows:
        return clients
    fates = result.fates[result.fates["global_round"].isin(own.rounds["global_round"])]
    path = CriticalPath.of(result.with_tables(rounds=own.rounds, spans=own.spans, fates=fates))
    chosen = [name for name in dict.fromkeys(path.edge_rounds["ended_by"]) if name in clients][:most_rows]
    others = [name for name in clients if name not in chosen]
    places = np.linspace(0, len(others) - 1, most_rows - len(chosen)).round().astype(int)
    return sorted([*chosen, *(others[place] for place in places)], key=by_number)


def _legend(looks: dict[str, Looks], mark: str) -> Iterator[Any]:
    for doing, own in looks.items():
        yield Patch(label=plain(doing), **own)
    yield Line2D([], [], label="cut off", **_CUT)
    yield Line2D([], [], label=mark, color="black", linewidth=1.0, marker="|", linestyle="none")
