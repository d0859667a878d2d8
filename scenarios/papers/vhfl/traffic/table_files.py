"""Traffic tables as files: one schema for measured and for generated cell traffic.

| file | columns | one row |
|---|---|---|
| traffic.csv | time, cell, target, any others | a slot of a cell: its throughput and what else it observed |
| neighbours.csv | cell, neighbour | two cells that are neighbours of each other |

`time` is when the slot starts, in ISO 8601 and local time, because days and weeks have cycles: without a
zone, or with the same offset everywhere. Slots are equally long and every cell has every one. The other
columns are features, at least one, of any name; all values are finite numbers, and `target` is not negative.
Columns and rows come in any order; cells are sorted by name. A pair of neighbours may be listed in both
orders. Every cell needs a neighbour: without one the server would observe nothing for it, and zeros would be
taken for silence. Every fault is an error that names file, row (the line in the file, the header's is 1) and
column.

Scope and limitations: whole tables in memory; nothing is interpolated; units are not checked.

Usage::

    write(generate(Traffic(), 16, rng), Path("traffic"))  # shows the schema
    table = read(Path("traffic/traffic.csv"), Path("traffic/neighbours.csv"))
"""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.tables.faults import fault
from cosim.tables.table import Table
from cosim.tables.text import table_of_text
from scenarios.papers.vhfl.traffic.traffic import TrafficTable

if TYPE_CHECKING:
    import networkx as nx

NEEDED = ("time", "cell", "target")
MONDAY = datetime(2024, 1, 1)
"""The Monday from which `write` counts."""


def read(table_path: Path, neighbours_path: Path) -> TrafficTable:
    """The traffic table of two files.

    Raises:
        ConfigurationError: A file that is no such CSV; a missing or repeated column; a value that is empty,
            no finite number or no time; a target below 0; a repeated row, a hole, slots of unequal length;
            fewer than 2 cells or slots; a neighbour that is unknown or the cell itself; a cell without any.
    """
    table = table_of_text(table_path)
    table.check_columns(*NEEDED)
    features = tuple(name for name in table.columns if name not in NEEDED)
    if not all(features):
        raise fault(table_path, "has no name", "a name for each column", row=1, column="")
    if not features:
        raise fault(
            table_path,
            "only the columns 'time', 'cell' and 'target'",
            "at least one column of what cells observe, such as their users",
            row=1,
        )
    slots = _slots(table)
    cells = sorted(table.names("cell").each)
    if len(cells) < 2 or len(slots.starts) < 2:
        raise fault(
            table_path,
            f"{len(cells)} cells in {len(slots.starts)} slots, but cells learn from neighbours and slots "
            "from the slots before",
            "at least 2 of each",
        )
    places = _places(table, cells)
    _check_twice(table, slots, places, cells)
    step = _step(table, slots)
    _check_holes(table, slots, places, cells)
    values = np.empty((len(slots.starts), len(cells), len(features) + 1))
    for number, name in enumerate((*features, "target")):
        values[slots.which, places, number] = _finite(table, name)
    first = slots.starts[0]
    monday = datetime.combine(first.date(), datetime.min.time()) - timedelta(days=first.weekday())
    return TrafficTable(
        cells=tuple(cells),
        neighbours=_neighbours(neighbours_path, cells),
        start_s=(first - monday).total_seconds(),
        slot_s=step.total_seconds(),
        feature_names=features,
        features=values[..., :-1].copy(),
        target=values[..., -1].copy(),
    )


def write(table: TrafficTable, folder: Path) -> None:
    """Write traffic.csv and neighbours.csv, from which `read` gets the same numbers; times start in 2024.

    Raises:
        ConfigurationError: Slots that are no whole microseconds, or a folder that cannot be written to.
    """
    start, step = timedelta(seconds=table.start_s), timedelta(seconds=table.slot_s)
    if (start.total_seconds(), step.total_seconds()) != (table.start_s, table.slot_s):
        raise ConfigurationError(
            f"TrafficTable with start_s = {table.start_s!r} and slot_s = {table.slot_s!r}: times are written "
            "in whole microseconds. Use slots of whole seconds."
        )
    times = [(MONDAY + start + step * slot).isoformat() for slot in range(len(table.target))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "traffic.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("time", "cell", *table.feature_names, "target"))
            rows = zip(times, table.features.tolist(), table.target.tolist(), strict=True)
            for time, features, target in rows:
                per_cell = zip(table.cells, features, target, strict=True)
                writer.writerows((time, cell, *seen, throughput) for cell, seen, throughput in per_cell)
        with open(folder / "neighbours.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("cell", "neighbour"))
            writer.writerows(sorted(tuple(sorted(edge)) for edge in table.neighbours.edges))
    except OSError as error:
        raise ConfigurationError(
            f"cannot write traffic to {folder}: {error}. Use a folder that you may write to."
        ) from None


class _Slots(NamedTuple):
    """Starts of slots, ascending, how the file writes them, and the slot of each row, shape (rows,)."""

    starts: list[datetime]
    texts: list[str]
    which: NDArray[np.int64]


def _finite(table: Table, name: str) -> NDArray[np.float64]:
    values = table.numbers(name, least=-math.inf, most=math.inf)
    fix = "a number such as 12.5, or leave out the cell everywhere"
    table.check(name, np.isinf(values), "is no finite number", fix)
    if name == "target":
        table.check(name, values < 0.0, "is below 0", "throughputs, or leave out the cell")
    return values


def _slots(table: Table) -> _Slots:
    """The slots of the rows."""
    texts, which = table.names("time")
    times: list[datetime] = []
    for number, text in enumerate(texts):
        try:
            times.append(datetime.fromisoformat(text))
        except ValueError:
            fix = "times such as 2024-01-31T18:00:00"
            table.check("time", which == number, "is no time of ISO 8601", fix)
    offsets = [time.utcoffset() for time in times]
    others = np.array([offset != offsets[0] for offset in offsets])
    table.check(
        "time", others[which], "has another offset from UTC than the rows above", "local time without zone"
    )
    plain = [time.replace(tzinfo=None) for time in times]
    starts = sorted(set(plain))
    numbers = {start: number for number, start in enumerate(starts)}
    texts_of = dict(zip(reversed(plain), reversed(texts), strict=True))
    return _Slots(
        starts, [texts_of[start] for start in starts], np.array([numbers[time] for time in plain])[which]
    )


def _places(table: Table, cells: Sequence[str]) -> NDArray[np.int64]:
    """The place of each row's cell among the cells, shape (rows,)."""
    each, which = table.names("cell")
    places = {cell: place for place, cell in enumerate(cells)}
    return np.array([places[cell] for cell in each])[which]


def _check_twice(table: Table, slots: _Slots, places: NDArray[np.int64], cells: Sequence[str]) -> None:
    keys = slots.which * len(cells) + places
    firsts = np.unique(keys, return_index=True)[1]
    again = np.ones(len(keys), dtype=bool)
    again[firsts] = False
    if again.any():
        row = int(again.argmax())
        first = table.line(int((keys == keys[row]).argmax()))
        what = f"has a row at {slots.texts[slots.which[row]]} already, row {first}"
        table.check("cell", again, what, "one of the two")


def _step(table: Table, slots: _Slots) -> timedelta:
    """Length of a slot, the most frequent one being taken for the right one."""
    steps = [late - early for early, late in pairwise(slots.starts)]
    ((step, _),) = Counter(sorted(steps)).most_common(1)
    for number, found in enumerate(steps, start=1):
        if found != step:
            what = f"comes {found} after the slot before, most come {step} after it"
            table.check("time", slots.which == number, what, "slots of one length without holes")
    return step


def _check_holes(table: Table, slots: _Slots, places: NDArray[np.int64], cells: Sequence[str]) -> None:
    there = np.zeros((len(slots.starts), len(cells)), dtype=bool)
    there[slots.which, places] = True
    if not there.all():
        slot, place = np.argwhere(~there)[0]
        what = f"has a row at {slots.texts[slot]}, and cell {cells[place]!r} has none"
        table.check(
            "cell", slots.which == slot, what, "a row of every cell, or leave out the cell everywhere"
        )


def _neighbours(path: Path, cells: Sequence[str]) -> "nx.Graph":
    import networkx as nx  # not before there is a graph

    table = table_of_text(path)
    table.check_columns("cell", "neighbour")
    columns = []
    for name in ("cell", "neighbour"):
        each, which = table.names(name)
        unknown = np.array([cell not in cells for cell in each])
        table.check(
            name, unknown[which], "is no cell of the traffic table", "its name there, or remove the row"
        )
        columns.append(np.array(each)[which])
    one, other = columns
    table.check("neighbour", one == other, "is no neighbour of itself", "rows of two cells")
    graph = nx.Graph()
    graph.add_nodes_from(cells)
    graph.add_edges_from(zip(one.tolist(), other.tolist(), strict=True))
    if lonely := next((cell for cell in cells if not graph.degree[cell]), None):
        what = f"no row names cell {lonely!r}, so the server would observe nothing for it"
        fix = "a row with its nearest cell, or leave it out of the traffic table"
        raise fault(path, what, fix)
    return graph
