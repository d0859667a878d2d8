"""Clients: jobs, energy and waiting of a run's clients by kind, and how evenly their updates arrive.

Numbers are of the table of clients, which every run has, also one that keeps no other rows of them.

Usage::

    values = clients(designs)
"""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from analysis.designs import Design
from analysis.kinds import ALL, by_kind, late_in_words
from analysis.report.cells import NOTHING, cell, is_share
from analysis.report.page import Table
from cosim.records.evenness import jain_index

_MOST_SAID = 8


def clients(designs: Sequence[Design]) -> dict[str, Any] | None:
    """A row for each design and kind of clients, and which kinds were late; None where nothing was asked."""
    found = {id(run): by_kind(run) for design in designs for run in design.counted}
    rows, late = [], []
    for design in designs:
        for kind in dict.fromkeys(kind for run in design.counted for kind in found[id(run)]):
            own = [found[id(run)][kind] for run in design.counted if kind in found[id(run)]]
            if not any(each["num_jobs"].any() for each in own):
                continue
            values = [
                cell([reading(each) for each in own], is_share(name)) for name, reading in _COLUMNS.items()
            ]
            rows.append([design.name, kind, *values])
            if any(each["num_late"].any() for each in own):
                late.append(_said(design, kind, own, alone=len(designs) == 1))
    if not rows:
        return None
    has_kinds = any(kind != ALL for _, kind, *_ in rows)
    caption = "Jobs of a run, by kind of client" if has_kinds else "Jobs of a run"
    said = [place for place in range(len(rows[0])) if any(row[place] != NOTHING for row in rows)]
    header = ["design", "clients", *_COLUMNS]
    header, rows = [header[place] for place in said], [[row[place] for place in said] for row in rows]
    rest = f"; and {len(late) - _MOST_SAID} more" if len(late) > _MOST_SAID else ""
    return {"late": "; ".join(late[:_MOST_SAID]) + rest, "table": Table(caption, header, rows)}


def _said(design: Design, kind: str, own: Sequence[pd.DataFrame], *, alone: bool) -> str:
    """How many jobs of a kind were late, over all runs."""
    who = kind if alone else f"{design.name}, {kind}"
    return f"{who}: {late_in_words(pd.concat(own))}"


def _percent(column: str) -> Callable[[pd.DataFrame], float | None]:
    def reading(own: pd.DataFrame) -> float | None:
        num_jobs = own["num_jobs"].sum()
        return 100.0 * float(own[column].sum() / num_jobs) if num_jobs else None

    return reading


def _evenness(own: pd.DataFrame) -> float | None:
    return jain_index(own["num_arrived"]) if own["num_arrived"].any() else None


def _accuracy(take: Callable[[pd.Series], float]) -> Callable[[pd.DataFrame], float | None]:
    """A number of the accuracies of the clients that have a test share; None where none is known."""

    def reading(own: pd.DataFrame) -> float | None:
        known = own["accuracy"].dropna() if "accuracy" in own else pd.Series(dtype=float)
        return take(known) if len(known) else None

    return reading


def _worst_tenth(accuracies: pd.Series) -> float:
    return float(accuracies.nsmallest(-(-len(accuracies) // 10)).mean())


_COLUMNS: dict[str, Callable[[pd.DataFrame], float | None]] = {
    "number": len,
    "jobs of each": lambda own: float(own["num_jobs"].mean()),
    "arrived (%)": _percent("num_arrived"),
    "late (%)": _percent("num_late"),
    "left (%)": _percent("num_left"),
    "energy of each (J)": lambda own: float(own["energy_j"].mean()),
    "waiting of each (s)": lambda own: float(own["wait_s"].mean()),
    "Jain's index of arrived updates": _evenness,
    "accuracy (%)": _accuracy(lambda of: 100.0 * float(of.mean())),
    "worst tenth (%)": _accuracy(lambda of: 100.0 * _worst_tenth(of)),
    "Jain's index of accuracy": _accuracy(jain_index),
}
