"""Clients: jobs, energy and waiting of a run's clients by kind, and how evenly their updates arrive.

Numbers are of the table of clients, which every run has, also one that keeps no other rows of them.

Usage::

    values = clients(designs)
"""

from collections.abc import Sequence
from typing import Any

from analysis.designs import Design
from analysis.kinds import ALL, COLUMNS, Group, groups_of, late_groups
from analysis.report.cells import NOTHING, cell
from analysis.report.page import Table


def clients(designs: Sequence[Design]) -> dict[str, Any] | None:
    """A row for each design and kind of clients, and which kinds were late; None where nothing was asked."""
    groups = groups_of(designs)
    if not groups:
        return None
    rows = [[group.design.name, group.kind, *_cells(group)] for group in groups]
    is_alone = len(designs) == 1
    named = {group.kind if is_alone else f"{group.design.name}, {group.kind}": group for group in groups}
    has_kinds = any(group.kind != ALL for group in groups)
    caption = "Jobs of a run, by kind of client" if has_kinds else "Jobs of a run"
    said = [place for place in range(len(rows[0])) if any(row[place] != NOTHING for row in rows)]
    header = ["design", "clients", *(measure.label for _, measure in COLUMNS.values())]
    header, rows = [header[place] for place in said], [[row[place] for place in said] for row in rows]
    return {"late": late_groups(named), "table": Table(caption, header, rows)}


def _cells(group: Group) -> list[Any]:
    found = []
    for column, (_, measure) in COLUMNS.items():
        values = [None if value is None else measure.factor * value for value in group.values(column)]
        found.append(cell(values, measure.is_share))
    return found
