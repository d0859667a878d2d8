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
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.papers.vhfl.traffic.traffic import TrafficTable

if TYPE_CHECKING:
    import networkx as nx

MONDAY = datetime(2024, 1, 1)
"""The Monday from which `write` counts."""


class _Row(NamedTuple):
    line: int
    values: dict[str, str]


def read(table_path: Path, neighbours_path: Path) -> TrafficTable:
    """The traffic table of two files.

    Raises:
        ConfigurationError: A file that is no such CSV; a missing or repeated column; a value that is empty,
            no finite number or no time; a target below 0; a repeated row, a hole, slots of unequal length;
            fewer than 2 cells or slots; a neighbour that is unknown or the cell itself; a cell without any.
    """
    rows = _rows(table_path, ("time", "cell", "target"))
    names = tuple(name for name in rows[0].values if name not in ("time", "cell", "target"))
    if not names:
        raise ConfigurationError(
            f"{table_path}, row 1: only the columns 'time', 'cell' and 'target'. Usual fix: at least one "
            "column of what cells observe, such as their users."
        )
    lines = _by_slot_and_cell(table_path, rows)
    cells = tuple(sorted({cell for _, cell in lines}))
    starts = sorted({start for start, _ in lines})
    if len(cells) < 2 or len(starts) < 2:
        raise ConfigurationError(
            f"{table_path}: {len(cells)} cells in {len(starts)} slots, but cells learn from neighbours and "
            "slots from the slots before. Usual fix: at least 2 of each."
        )
    step = _step(table_path, starts, lines)
    _check_holes(table_path, starts, cells, lines)
    slots = {start: number for number, start in enumerate(starts)}
    places = {cell: number for number, cell in enumerate(cells)}
    values = np.empty((len(starts), len(cells), len(names) + 1))
    for row, (start, cell) in zip(rows, lines, strict=True):
        values[slots[start], places[cell]] = [_number(table_path, row, name) for name in (*names, "target")]
    monday = datetime.combine(starts[0].date(), datetime.min.time()) - timedelta(days=starts[0].weekday())
    return TrafficTable(
        cells=cells,
        neighbours=_neighbours(neighbours_path, cells),
        start_s=(starts[0] - monday).total_seconds(),
        slot_s=step.total_seconds(),
        feature_names=names,
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
            "in whole microseconds. Usual fix: slots of whole seconds."
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
            f"cannot write traffic to {folder}: {error}. Usual fix: a folder that you may write to."
        ) from None


def _fault(path: Path, row: _Row, column: str, what: str, fix: str) -> ConfigurationError:
    return ConfigurationError(f"{path}, row {row.line}, column {column!r}: {what}. Usual fix: {fix}.")


def _rows(path: Path, needed: tuple[str, ...]) -> list[_Row]:
    """The rows of a CSV file that has these columns, every value a text that is not empty."""
    rows: list[_Row] = []
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            _check_header(path, header, needed)
            for fields in reader:
                if len(fields) not in (0, len(header)):
                    raise ConfigurationError(
                        f"{path}, row {reader.line_num}: {len(fields)} values for {len(header)} columns. "
                        f"Usual fix: as many as the header has ({', '.join(header)})."
                    )
                if fields:
                    texts = (text.strip() for text in fields)
                    rows.append(_Row(reader.line_num, dict(zip(header, texts, strict=True))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(
            f"{path}: {error}. Usual fix: a CSV file in UTF-8 with columns {', '.join(needed)}."
        ) from None
    if not rows:
        raise ConfigurationError(f"{path}: no rows after the header. Usual fix: give the data.")
    for row in rows:
        for column, text in row.values.items():
            if not text:
                raise _fault(path, row, column, "is empty", "fill it in, or leave out the cell everywhere")
    return rows


def _check_header(path: Path, header: list[str], needed: tuple[str, ...]) -> None:
    for column in needed:
        if column not in header:
            raise ConfigurationError(
                f"{path}, row 1, column {column!r}: is missing; the columns are {', '.join(header)}. "
                f"Usual fix: a header with {', '.join(needed)}."
            )
    for column, count in Counter(header).items():
        if count > 1 or not column:
            what = f"is there {count} times" if column else "has no name"
            raise ConfigurationError(
                f"{path}, row 1, column {column!r}: {what}. Usual fix: one name per column."
            )


def _number(path: Path, row: _Row, column: str) -> float:
    text = row.values[column]
    try:
        number = math.nan if "_" in text else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        what = f"{text!r} is no finite number"
        raise _fault(path, row, column, what, "a number such as 12.5, or leave out the cell everywhere")
    if column == "target" and number < 0.0:
        raise _fault(path, row, column, f"throughput {text} is negative", "mend it, or leave out the cell")
    return number


def _by_slot_and_cell(path: Path, rows: list[_Row]) -> dict[tuple[datetime, str], _Row]:
    """Rows by start of the slot and cell, in the order of the file."""
    times: dict[str, datetime] = {}
    offset: timedelta | None = None
    lines: dict[tuple[datetime, str], _Row] = {}
    for row in rows:
        text, cell = row.values["time"], row.values["cell"]
        if text not in times:
            try:
                time = datetime.fromisoformat(text)
            except ValueError:
                what = f"{text!r} is no time of ISO 8601"
                raise _fault(path, row, "time", what, "write it like 2024-01-31T18:00:00") from None
            if times and time.utcoffset() != offset:
                what = f"{text!r} has another offset from UTC than the rows above"
                raise _fault(path, row, "time", what, "local time without zone")
            offset = time.utcoffset()
            times[text] = time.replace(tzinfo=None)
        if (first := lines.setdefault((times[text], cell), row)) is not row:
            what = f"cell {cell!r} at {text} is in row {first.line} already"
            raise _fault(path, row, "cell", what, "keep one of the two")
    return lines


def _step(path: Path, starts: list[datetime], lines: dict[tuple[datetime, str], _Row]) -> timedelta:
    """Length of a slot, the most frequent one being taken for the right one."""
    steps = [late - early for early, late in pairwise(starts)]
    ((step, _),) = Counter(sorted(steps)).most_common(1)
    for start, found in zip(starts[1:], steps, strict=True):
        if found != step:
            row = next(row for (time, _), row in lines.items() if time == start)
            what = f"{row.values['time']} comes {found} after the slot before, most come {step} after it"
            raise _fault(path, row, "time", what, "slots of one length without holes")
    return step


def _check_holes(
    path: Path, starts: list[datetime], cells: tuple[str, ...], lines: dict[tuple[datetime, str], _Row]
) -> None:
    if len(lines) == len(starts) * len(cells):
        return
    start, cell = next((start, cell) for start in starts for cell in cells if (start, cell) not in lines)
    row = next(row for (time, _), row in lines.items() if time == start)
    what = f"cell {cell!r} has no row at {row.values['time']}, which this row has for {row.values['cell']!r}"
    raise _fault(path, row, "cell", what, "add it, or leave out the cell everywhere")


def _neighbours(path: Path, cells: tuple[str, ...]) -> "nx.Graph":
    import networkx as nx  # not before there is a graph

    graph = nx.Graph()
    graph.add_nodes_from(cells)
    for row in _rows(path, ("cell", "neighbour")):
        cell, neighbour = row.values["cell"], row.values["neighbour"]
        for column in ("cell", "neighbour"):
            if row.values[column] not in graph:
                what = f"no cell {row.values[column]!r} in the traffic table"
                raise _fault(path, row, column, what, "correct the name, or remove the row")
        if cell == neighbour:
            raise _fault(path, row, "neighbour", f"{cell!r} is no neighbour of itself", "remove the row")
        graph.add_edge(cell, neighbour)
    if lonely := next((cell for cell in cells if not graph.degree[cell]), None):
        raise ConfigurationError(
            f"{path}, columns 'cell' and 'neighbour': no row names cell {lonely!r}, so the server would "
            "observe nothing for it. Usual fix: add its nearest cell, or leave it out of the traffic table."
        )
    return graph
