"""Traffic tables as files: measured cell traffic in one schema.

| file | columns | a row is |
|---|---|---|
| traffic.csv | time, cell, any features, target | what a cell observed in one slot, and its throughput |
| neighbours.csv | cell, neighbour | two cells that are neighbours, in either order |

Times are ISO 8601 without time zone, in equal steps, the same for all cells; rows may come in any order.
Cells are ordered by name. Every fault is one error that names file, row (the first line is row 1) and column.

Scope and limitations: the whole table must fit in memory; no interpolation of what was not measured.

Usage::

    write(generate(Traffic(), rng), Path("my-traffic"))  # an example of the schema
    table = read(Path("my-traffic/traffic.csv"), Path("my-traffic/neighbours.csv"))
"""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from cosim.configuration import ConfigurationError
from cosim.learning.traffic import DAY_S, TrafficTable

MONDAY = pd.Timestamp("2024-01-01")
"""Begin of what `write` writes."""


def read(table_path: Path, neighbours_path: Path) -> TrafficTable:
    """The table of two files.

    Raises:
        ConfigurationError: A missing column, a hole, a duplicate row, an unknown cell, a value that is no
            finite number, times that are not in equal steps, fewer than 2 cells or 2 slots.
    """
    frame = _columns(table_path, ("time", "cell", "target"))
    feature_names = tuple(name for name in frame.columns if name not in ("time", "cell", "target"))
    frame["time"] = _times(table_path, frame["time"])
    for name in (*feature_names, "target"):
        frame[name] = _numbers(table_path, frame[name])
    duplicate = frame.duplicated(["time", "cell"])
    if duplicate.any():
        row = int(duplicate.argmax())
        raise _fault(table_path, row, "cell", f"cell {frame['cell'][row]!r} has this time twice", "keep one")
    cells, times = sorted(frame["cell"].unique()), sorted(frame["time"].unique())
    if len(cells) < 2 or len(times) < 2:
        raise ConfigurationError(
            f"{table_path}: {len(cells)} cells at {len(times)} times; at least 2 of each are needed. "
            "Usual fix: a longer record."
        )
    _check_steps(table_path, frame["time"], pd.DatetimeIndex(times))
    _check_holes(table_path, frame, cells, times)
    frame = frame.sort_values(["time", "cell"], ignore_index=True)
    shape = (len(times), len(cells))
    start = pd.Timestamp(times[0])
    return TrafficTable(
        cells=tuple(cells),
        neighbours=_neighbours(neighbours_path, cells),
        start_s=start.dayofweek * DAY_S + (start - start.normalize()).total_seconds(),
        slot_s=(pd.Timestamp(times[1]) - start).total_seconds(),
        feature_names=feature_names,
        features=frame[list(feature_names)].to_numpy(float).reshape(*shape, len(feature_names)),
        target=frame["target"].to_numpy(float).reshape(shape),
    )


def write(table: TrafficTable, folder: Path) -> None:
    """Both files, beginning on a Monday; a later read gives the same table."""
    folder.mkdir(parents=True, exist_ok=True)
    times = MONDAY + pd.to_timedelta(table.time_s, unit="s")
    frame = pd.DataFrame({"time": np.repeat(times, len(table.cells)), "cell": table.cells * len(times)})
    for place, name in enumerate(table.feature_names):
        frame[name] = table.features[..., place].ravel()
    frame["target"] = table.target.ravel()
    frame.to_csv(folder / "traffic.csv", index=False, date_format="%Y-%m-%dT%H:%M:%S")
    edges = pd.DataFrame(sorted(map(sorted, table.neighbours.edges)), columns=["cell", "neighbour"])
    edges.to_csv(folder / "neighbours.csv", index=False)


def _fault(path: Path, row: int, column: str, what: str, fix: str) -> ConfigurationError:
    return ConfigurationError(f"{path}, row {row + 2}, column {column!r}: {what}. Usual fix: {fix}.")


def _columns(path: Path, needed: tuple[str, ...]) -> pd.DataFrame:
    """A CSV file as texts, without empty fields."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path}: cannot be read as CSV ({error}). Usual fix: a file with columns {', '.join(needed)}."
        ) from None
    for column in needed:
        if column not in frame.columns:
            raise ConfigurationError(
                f"{path}: has no column {column!r}, only {', '.join(map(repr, frame.columns))}. Usual fix: "
                f"columns {', '.join(needed)}."
            )
    for column in frame.columns:
        empty = frame[column].str.strip() == ""
        if empty.any():
            raise _fault(path, int(empty.argmax()), column, "is empty", "leave no holes, or drop the cell")
    return frame


def _times(path: Path, texts: pd.Series) -> pd.Series:
    times = pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=False)
    bad = times.isna() if isinstance(times.dtype, np.dtype) else pd.Series([True] * len(texts))
    if bad.any():
        row = int(bad.argmax())
        rule = f"{texts[row]!r} is no time of ISO 8601 without time zone"
        raise _fault(path, row, "time", rule, "such as 2024-01-01T00:00:00")
    return times


def _numbers(path: Path, texts: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(texts, errors="coerce").astype(float)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.argmax())
        raise _fault(
            path, row, str(texts.name), f"{texts[row]!r} is no finite number", "mend or drop the cell"
        )
    return numbers


def _check_steps(path: Path, column: pd.Series, times: pd.DatetimeIndex) -> None:
    steps = np.diff(times.to_numpy())
    uneven = steps != steps[0]
    if uneven.any():
        late = times[int(uneven.argmax()) + 1]
        row = int((column == late).argmax())
        rule = f"{late.isoformat()} does not follow in the step of {steps[0] / np.timedelta64(1, 's'):g} s"
        raise _fault(path, row, "time", rule, "equal steps, without holes")


def _check_holes(path: Path, frame: pd.DataFrame, cells: list[str], times: list[pd.Timestamp]) -> None:
    if len(frame) == len(cells) * len(times):
        return
    full = pd.MultiIndex.from_product([times, cells])
    missing = full.difference(pd.MultiIndex.from_frame(frame[["time", "cell"]]))
    time, cell = pd.Timestamp(missing.get_level_values(0)[0]), missing.get_level_values(1)[0]
    row = int((frame["time"] == time).argmax())
    rule = f"cell {cell!r} is missing at {time.isoformat()}, which this row has"
    raise _fault(path, row, "cell", rule, "add the row, or drop the cell everywhere")


def _neighbours(path: Path, cells: list[str]) -> nx.Graph:
    frame = _columns(path, ("cell", "neighbour"))
    graph = nx.Graph()
    graph.add_nodes_from(cells)
    for row, pair in enumerate(zip(frame["cell"], frame["neighbour"], strict=True)):
        for column, cell in zip(("cell", "neighbour"), pair, strict=True):
            if cell not in graph:
                raise _fault(path, row, column, f"no cell {cell!r} in the traffic table", "correct the name")
        if pair[0] == pair[1]:
            raise _fault(path, row, "neighbour", f"{pair[0]!r} is no neighbour of itself", "remove the row")
        if graph.has_edge(*pair):
            raise _fault(path, row, "neighbour", f"{pair[0]!r} and {pair[1]!r} come twice", "keep one")
        graph.add_edge(*pair)
    return graph
