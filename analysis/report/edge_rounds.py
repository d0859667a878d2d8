"""Edge rounds of runs that keep no rows of their clients, as a part of a page: what `Result.tallies` tell.

Scope: numbers of designs are means over their counted runs; pictures, of six designs, and cells, the 20 whose
edge rounds last longest, are from the first counted run. Which client ended a round, and when an update
arrived, needs rows of clients.

Usage::

    values = edge_rounds(designs)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.designs import Design, Reading, seed_of
from analysis.plots.edge_rounds import edge_rounds_of, late_picture, times_picture
from analysis.report.cells import cell, in_small_units, is_share, number
from analysis.report.page import Figure, Table
from analysis.report.pictures import PANEL, picture
from cosim.names import by_number
from cosim.results.result import Result

_MOST_CELLS = 20
_MOST_DESIGNS = 6


def edge_rounds(designs: Sequence[Design]) -> dict[str, Any] | None:
    """How long edge rounds and their uploads last, and how much comes too late; None of other runs."""
    told = [design for design in designs if all(len(run.tallies) for run in design.counted)]
    if not told:
        return None
    columns: dict[str, Reading] = {
        "edge rounds": lambda run: len(edge_rounds_of(run)),
        "median edge round (s)": lambda run: _quantile(_lasted_s(edge_rounds_of(run)), 0.5),
        "longest (s)": lambda run: float(_lasted_s(edge_rounds_of(run)).max()),
        "half of the uploads in it (s)": lambda run: _quantile(run.tallies["upload_p50_s"], 0.5),
        "slowest upload in it (s)": lambda run: _quantile(run.tallies["upload_max_s"], 0.5),
        "waiting to send (s per update)": lambda run: _per_update(run, "wait_s"),
        "updates that do not count (%)": lambda run: _late_percent(edge_rounds_of(run)),
    }
    columns = in_small_units(columns, told)
    rows = [
        [d.name, *(cell(d.values(reading), is_share(words)) for words, reading in columns.items())]
        for d in told
    ]
    caption = "Edge rounds of a run; an upload lasts from the end of training to its own, median edge round"
    return {
        "figures": [_pictures(design, place) for place, design in enumerate(told[:_MOST_DESIGNS])],
        "table": Table(caption, ["design", *columns], rows),
        "cells": _cells(told[0]),
        "rest": f", of the first {_MOST_DESIGNS} designs" if len(told) > _MOST_DESIGNS else "",
    }


def _pictures(design: Design, place: int) -> Figure:
    run = design.counted[0]
    drawn = [
        picture(
            lambda axes: times_picture(axes, run),
            said="Shares of edge rounds over how long they, and quantiles of their uploads, last at most.",
            prefix=f"times{place}-",
            size=(PANEL[0], PANEL[1] + 0.3),
        ),
        picture(
            lambda axes: late_picture(axes, run),
            said="Share of updates that do not count, by global round.",
            prefix=f"late{place}-",
            size=(PANEL[0], PANEL[1] + 0.3),
        ),
    ]
    return Figure(drawn, f"{design.name}, seed {seed_of(run)}: {len(edge_rounds_of(run)):,} edge rounds.")


def _cells(design: Design) -> Table:
    """Cells of the first counted run with the longest edge rounds."""
    told = edge_rounds_of(design.counted[0])
    by_cell = told.assign(lasted_s=_lasted_s(told)).groupby("edge")
    found = by_cell[["num_participants", "num_arrived", "train_j", "send_j"]].sum()
    found["rounds"], found["mean_s"], found["longest_s"] = (
        by_cell.size(),
        by_cell["lasted_s"].mean(),
        by_cell["lasted_s"].max(),
    )
    shown = found.sort_values("mean_s", ascending=False, kind="stable").head(_MOST_CELLS)
    rows = [
        [
            name,
            int(own["rounds"]),
            *map(number, (own["mean_s"], own["longest_s"])),
            int(own["num_participants"]),
            number(_late_percent(own)),
            *map(number, (own["train_j"], own["send_j"])),
        ]
        for name, own in ((name, shown.loc[name]) for name in sorted(shown.index, key=by_number))
    ]
    header = ["cell", "edge rounds", "mean (s)", "longest (s)", "updates asked for", "that do not count (%)"]
    header += ["training (J)", "sending (J)"]
    which = "all" if len(shown) == len(found) else f"{len(shown)} of {len(found):,}, longest on average"
    return Table(f"Cells; {which}; {design.name}, seed {seed_of(design.counted[0])}", header, rows)


def _lasted_s(tallies: pd.DataFrame) -> pd.Series:
    return tallies["end_s"] - tallies["start_s"]


def _quantile(values: pd.Series, share: float) -> float | None:
    """None, where there is no value."""
    return float(values.quantile(share)) if values.notna().any() else None


def _per_update(run: Result, column: str) -> float | None:
    num_trained = int(run.tallies["num_trained"].sum())
    return float(run.tallies[column].sum()) / num_trained if num_trained else None


def _late_percent(told: "pd.DataFrame | pd.Series") -> float:
    """Of all updates that were asked for."""
    asked = np.sum(told["num_participants"])
    return 100.0 * float(1.0 - np.sum(told["num_arrived"]) / asked) if asked else 0.0
