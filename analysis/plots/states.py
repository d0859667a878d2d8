"""States: clients that were present when edge rounds began, had an empty battery, or were away.

Scope: a client that is away and has an empty battery counts as one with an empty battery. In a run that kept
no rows of its clients it is not known why a client is not there.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.activities import in_words
from analysis.fates import keeps_clients
from analysis.plots.style import Looks, legend_above, looks_of
from cosim.names import by_number
from cosim.records.rows import REST
from cosim.results.result import Result

THERE, EMPTY, AWAY, ABSENT = "there", in_words(REST[2]), "away", "not there"

_LOOKS: Mapping[str, Looks] = {
    THERE: {"facecolor": "#9cc5e3", "edgecolor": "#0b3c5d"},
    **looks_of([EMPTY]),
    AWAY: {"facecolor": "#ffffff", "edgecolor": "#4a4a4a", "hatch": "////"},
    ABSENT: {"facecolor": "#ffffff", "edgecolor": "#4a4a4a", "hatch": "////"},
}


def shares_of(result: Result) -> pd.DataFrame:
    """Per cent of clients in each state when an edge round began, of the cells that have run it.

    Each cell is counted at its own beginning.

    Returns:
        A row per edge round in the order of time: the states that are known, and `start_s` of the first cell.
    """
    rows = _edge_rounds(result).reset_index(drop=True)
    cells, sizes = _cells(result, rows)
    absent = sizes - rows["num_present"]
    counts = rows[["global_round", "edge_round"]].assign(num_clients=sizes)
    counts[THERE] = rows["num_present"]
    if keeps_clients(result):
        # A client that runs out at the very instant of a beginning was still there.
        counts[EMPTY] = np.minimum(_num_empty(result, cells, rows["start_s"].to_numpy()), absent)
        counts[AWAY] = absent - counts[EMPTY]
    else:
        counts[ABSENT] = absent
    rounds = ["global_round", "edge_round"]
    sums = counts.groupby(rounds).sum()
    shares = 100.0 * sums.drop(columns="num_clients").div(sums["num_clients"], axis=0)
    return shares.assign(start_s=rows.groupby(rounds)["start_s"].min()).sort_values("start_s")


def some_were_away(result: Result) -> bool:
    """True if a client was not there when an edge round began."""
    rows = _edge_rounds(result)
    return bool((rows["num_present"].to_numpy() < _cells(result, rows)[1]).any())


def empty_percent(result: Result) -> float | None:
    """Share of the time of all clients in which their batteries were empty; None where no rows were kept."""
    if not keeps_clients(result) or not result.summary.time_s:
        return None
    own = _empty(result)
    all_s = int(result.config["system"]["num_clients"]) * result.summary.time_s
    return 100.0 * float((own["end_s"] - own["start_s"]).sum()) / all_s


def states_picture(axes: Axes, result: Result) -> None:
    """Shares of the clients of all cells over time, one state above the other.

    Raises:
        ValueError: The run has no edge rounds, at which clients are counted.
    """
    if _edge_rounds(result).empty:
        raise ValueError("present clients are counted at edge rounds, and the run has none.")
    shares = shares_of(result)
    at_s = [*shares["start_s"], result.rounds["end_s"].max()]
    shown = [state for state in _LOOKS if state in shares and shares[state].any()]
    below = np.zeros(len(shares))
    for state in shown:
        top = below + shares[state].to_numpy()
        axes.stairs(top, at_s, baseline=below, fill=True, linewidth=0.0, label=state, **_LOOKS[state])
        below = top
    axes.set_xlim(at_s[0], at_s[-1])
    axes.set_ylim(0.0, 100.0)
    axes.set_xlabel("beginning of the edge round (s)")
    axes.set_ylabel("clients of all cells (%)")
    legend_above(axes, shown, handles=[Patch(label=state, **_LOOKS[state]) for state in shown])


def _edge_rounds(result: Result) -> pd.DataFrame:
    return result.rounds[result.rounds["level"] == "edge"]


def _cells(result: Result, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Number and size of the cell of each edge round, shape (rows,)."""
    nodes, names = pd.factorize(rows["node"])
    cells = np.array([by_number(name)[1] for name in names], dtype=np.int64)[nodes]
    return cells, _cell_sizes(result)[cells]


def _cell_sizes(result: Result) -> np.ndarray:
    """Clients of each cell; where they are not given, as even as they go."""
    told = result.config["system"]
    evenly = np.array_split(np.arange(told["num_clients"]), told["num_cells"])
    return np.array(told.get("cell_sizes") or [len(own) for own in evenly])


def _empty(result: Result) -> pd.DataFrame:
    """Activities of clients whose battery is empty."""
    return result.spans[result.spans["activity"] == REST[2]]


def _num_empty(result: Result, cells: np.ndarray, at_s: np.ndarray) -> np.ndarray:
    """Clients of each of some cells whose batteries are empty at an instant each."""
    own = _empty(result)
    numbers = np.array([by_number(node)[1] for node in own["node"]], dtype=np.int64)
    cell_of = np.searchsorted(np.cumsum(_cell_sizes(result)), numbers, "right")
    found = np.zeros(len(cells), dtype=np.int64)
    for cell in np.unique(cell_of):
        starts_s, ends_s = (np.sort(own.loc[cell_of == cell, name]) for name in ("start_s", "end_s"))
        here = cells == cell
        found[here] = np.searchsorted(starts_s, at_s[here], "right")
        found[here] -= np.searchsorted(ends_s, at_s[here], "right")
    return found
