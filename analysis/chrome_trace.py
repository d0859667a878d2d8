"""Chrome trace: a run as JSON in the Trace Event Format, which Perfetto and chrome://tracing open.

One process for the cloud and one for each cell, named after its edge server. The threads of a process are
tracks: "edge-00 rounds" with the rounds, "edge-00" with what the server did, then its clients by name; on
them spans (phase X) and dropped uploads (phase i). Counters (phase C) of a cell are the energy that its
clients have spent and the number of uploads on their way; of the cloud, how good the global model is.

Scope and limitations: times are whole microseconds, the format's unit. Start and end are rounded, half to
even, and a duration is their difference, so that order and adjacency survive. Durations are off by at most
1 µs; a span shorter than that may have duration 0, and of a whole run shorter than about 1 ms little is left
to see. The exact times are among the arguments.

The tables know no capacity of a battery, so the battery is a counter of energy spent, one for each cell and
not for each client; a span's energy is booked where the span ends. An upload is on its way from its start to
its end, also while it waits its turn. A client belongs to the cell of its uploads and plans; one without any,
to the cell in which the configuration puts it; without that, to "unknown cell". Spans of one node that
overlap, which no protocol of ours makes, go to further tracks of the same name, because Perfetto drops slices
that are neither disjoint nor nested. Evaluations that are not finite are left out.

Usage::

    num_events = write(Result.load("runs/a"), Path("a.json"))  # to be opened in https://ui.perfetto.dev
    table = spans(json.loads(Path("a.json").read_text())["traceEvents"])  # the run's table of spans

Source: Trace Event Format, Google, 2016 (phases and their fields); Perfetto's importer of JSON (threads are
told apart by their number alone, so no number is used twice; what names no thread belongs to the one with the
number of its process).
"""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosim.files.on_disk import replace
from cosim.names import by_number, client_name, edge_name
from cosim.records.rows import DOWN, UP, Round, Span, Transfer
from cosim.records.tables import TABLES
from cosim.results.result import Result

CLOUD = "cloud"
UNKNOWN_CELL = "unknown cell"
NEEDED = {
    "spans": Span._fields,
    "transfers": Transfer._fields,
    "fates": ("client", "edge"),
    "plans": ("client", "edge"),
    "rounds": Round._fields,
    "evaluations": ("time_s",),
}
"""Columns that a trace is made from."""

_DTYPES = {str: "str", float: "float64", int: "int64"}

Event = dict[str, Any]


def write(result: Result, path: Path) -> int:
    """Write the trace of a run to a file, whole or not at all; returns the number of events.

    Raises:
        ValueError: A table is damaged, as in `events`.
        ConfigurationError: The file cannot be written.
    """
    made = events(result)
    other = {
        "scenario": result.config.get("scenario"),
        "seed": _system(result).get("seed"),
        "status": result.summary.status,
    }
    encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
    head = f'{{"displayTimeUnit":"ms","otherData":{encode(other)},"traceEvents":[\n'
    text = head + ",\n".join(map(encode, made)) + "\n]}\n"
    replace(path, lambda partial: partial.write_text(text, encoding="utf-8"))
    return len(made)


def events(result: Result) -> list[Event]:
    """The events of a run: first the names of processes and threads, then the rest by time.

    Raises:
        ValueError: A table is damaged: a column or a value is missing, a time or an energy is negative or not
            finite, or an end lies before its start.
    """
    for name, columns in NEEDED.items():
        if why := _damage(name, getattr(result, name), columns):
            raise ValueError(f"the table of {name} is damaged: {why}. Repeat the run.")
    cells = _cells(result)
    # Drops first: at one instant with a span that starts there, Perfetto would show them as a part of it.
    placed = [*_drops(result.transfers), *_spans(result.spans), *_rounds(result.rounds)]
    lanes = _lanes(placed)
    named, ids = _threads(cells, {(track, lane) for (track, _), lane in zip(placed, lanes, strict=True)})
    timed = [event | ids[track, lane] for (track, event), lane in zip(placed, lanes, strict=True)]
    pids = {cell: ids[_rounds_of(cell), 0]["pid"] for cell in cells.values()}
    timed += [*_load(result, cells, pids), *_quality(result, pids[CLOUD])]
    return named + sorted(timed, key=lambda event: event["ts"])


def spans(events: Iterable[Event]) -> pd.DataFrame:
    """The table of spans that the events were made from, exactly, in the order of its rows."""
    nodes, rows = {}, {}
    for event in events:
        told = event["args"]
        if event["name"] == "thread_name":
            nodes[event["tid"]] = told["name"]
        elif event["ph"] == "X" and event["cat"] == "span":
            rows[told["row"]] = Span(
                node=nodes[event["tid"]],
                activity=event["name"],
                start_s=told["start_s"],
                end_s=told["end_s"],
                energy_j=told["energy_j"],
                outcome=told["outcome"],
                job=told["job"],
            )
    frame = pd.DataFrame([rows[number] for number in sorted(rows)], columns=list(Span._fields))
    return frame.astype({column: _DTYPES[kind] for column, kind in Span.__annotations__.items()})


def _damage(name: str, table: pd.DataFrame, columns: tuple[str, ...]) -> str | None:
    for column in columns:
        if column not in table:
            return f"it has no column {column}"
        if table[column].isna().any():
            return f"{column} lacks a value"
        if TABLES[name].__annotations__[column] is float:
            if not pd.api.types.is_numeric_dtype(table[column]):
                return f"{column} are no numbers"
            if not (np.isfinite(table[column]) & (table[column] >= 0.0)).all():
                return f"{column} must be finite and not negative"
    if "end_s" in columns and (table["end_s"] < table["start_s"]).any():
        return "end_s must not lie before start_s"
    return None


def _system(result: Result) -> dict[str, Any]:
    return result.config.get("system") or {}


def _cells(result: Result) -> dict[str, str]:
    """For each node that did something the process that shows it, in the order of processes and of tracks."""
    known = _configured(_system(result), result.spans["node"])
    for table in (result.transfers, result.fates, result.plans):
        known |= dict(zip(table["client"], table["edge"], strict=True))
    edges = result.rounds["node"][result.rounds["level"] == "edge"]
    known |= {edge: edge for edge in {*known.values(), *edges}} | {CLOUD: CLOUD}
    nodes = {*result.spans["node"], *result.transfers["client"], *edges, CLOUD}
    cells = {node: known.get(node, UNKNOWN_CELL) for node in nodes}
    cells |= {cell: cell for cell in cells.values()}
    order = {CLOUD: 0, UNKNOWN_CELL: 2}
    return dict(sorted(cells.items(), key=lambda of: (order.get(of[1], 1), of[1], of[0] != of[1], of[0])))


def _configured(system: dict[str, Any], nodes: Iterable[str]) -> dict[str, str]:
    """The edge server of each client by a configuration, where there is one: clients are numbered through."""
    if "num_clients" not in system or "num_cells" not in system:
        return {}
    size, larger = divmod(system["num_clients"], system["num_cells"])
    sizes = system.get("cell_sizes") or np.where(np.arange(system["num_cells"]) < larger, size + 1, size)
    last = np.cumsum(sizes)
    numbers = {node: by_number(node)[1] for node in dict.fromkeys(nodes)}
    return {
        node: edge_name(int(np.searchsorted(last, number, side="right")))
        for node, number in numbers.items()
        if node == client_name(number) and number < last[-1]
    }


def _rounds_of(node: str) -> str:
    return f"{node} rounds"


def _drops(transfers: pd.DataFrame) -> Iterator[tuple[str, Event]]:
    told = ["edge", "job", "global_round", "edge_round", "payload_bits", "sent_bits"]
    dropped = transfers[~transfers["arrived"].astype(bool)]
    names = dropped["direction"].map({UP: "upload", DOWN: "download"})
    for client, end_s, name, args in zip(
        dropped["client"], dropped["end_s"], names, _arguments(dropped, told), strict=True
    ):
        what = {"name": f"dropped {name}", "cat": "drop", "ph": "i", "s": "t"}
        yield client, {**what, "ts": _us(end_s), "args": args}


def _spans(table: pd.DataFrame) -> Iterator[tuple[str, Event]]:
    told = _arguments(table, ["start_s", "end_s", "energy_j", "outcome", "job"])
    for row, (node, activity, args) in enumerate(zip(table["node"], table["activity"], told, strict=True)):
        yield node, _slice(activity, "span", args | {"row": row})


def _rounds(table: pd.DataFrame) -> Iterator[tuple[str, Event]]:
    counts = ["num_wanted", "num_present", "num_participants", "num_arrived"]
    for args in _arguments(
        table, ["level", "node", "global_round", "edge_round", "start_s", "end_s", *counts]
    ):
        level, node, number = args.pop("level"), args.pop("node"), args["global_round"]
        if level == "edge":
            yield _rounds_of(node), _slice(f"edge round {number}.{args['edge_round']}", "round", args)
        else:
            yield _rounds_of(CLOUD), _slice(f"global round {number}", "round", args)


def _arguments(table: pd.DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    """The rows as dictionaries of plain Python values."""
    rows: list[Any] = table[columns].to_dict("records")
    return rows


def _us(time_s: float) -> int:
    return round(time_s * 1e6)


def _slice(name: str, category: str, args: dict[str, Any]) -> Event:
    start, end = _us(args["start_s"]), _us(args["end_s"])
    return {"name": name, "cat": category, "ph": "X", "ts": start, "dur": end - start, "args": args}


def _lanes(placed: list[tuple[str, Event]]) -> list[int]:
    """For each event a lane of its track, the first that is free, so that no two slices of a lane overlap."""
    lanes, free_from = [0] * len(placed), {}
    for index in sorted(range(len(placed)), key=lambda index: placed[index][1]["ts"]):
        track, event = placed[index]
        if event["ph"] == "X":
            ends = free_from.setdefault(track, [])
            lane = next((lane for lane, end in enumerate(ends) if end <= event["ts"]), len(ends))
            ends[lane : lane + 1] = [event["ts"] + event["dur"]]
            lanes[index] = lane
    return lanes


def _threads(
    cells: dict[str, str], used: set[tuple[str, int]]
) -> tuple[list[Event], dict[tuple[str, int], dict[str, int]]]:
    """Events that name processes and threads, and the numbers of each track and lane."""
    named: list[Event] = []
    ids: dict[tuple[str, int], dict[str, int]] = {}
    num_lanes: dict[str, int] = {}
    for track, lane in used:
        num_lanes[track] = max(num_lanes.get(track, 1), lane + 1)

    def name(what: str, of: dict[str, int], **args: str | int) -> None:
        named.append({"name": what, "ph": "M", **of, "args": args})

    processes = list(dict.fromkeys(cells.values()))
    for place, process in enumerate(processes):
        nodes = [node for node, cell in cells.items() if cell == process]
        pid = len(ids) + 1
        name("process_name", {"pid": pid, "tid": pid}, name=process)
        name("process_sort_index", {"pid": pid, "tid": pid}, sort_index=place)
        for track in (_rounds_of(process), *nodes):
            for lane in range(num_lanes.get(track, 1)):
                ids[track, lane] = {"pid": pid, "tid": len(ids) + 1}
                name("thread_name", ids[track, lane], name=track)
                name("thread_sort_index", ids[track, lane], sort_index=len(ids) - pid)
    return named, ids


def _load(result: Result, cells: dict[str, str], pids: dict[str, int]) -> Iterator[Event]:
    """Counters of each cell: what its clients, not its server, have spent, and their uploads on their way."""
    spent: dict[str, list[tuple[float, float]]] = {cell: [] for cell in pids}
    for node, end_s, energy_j in zip(
        *(result.spans[name] for name in ("node", "end_s", "energy_j")), strict=True
    ):
        if node != cells[node]:
            spent[cells[node]].append((end_s, energy_j))
    uploads: dict[str, list[tuple[float, int]]] = {cell: [] for cell in pids}
    sent = result.uploads
    for client, *ends_s in zip(*(sent[name] for name in ("client", "start_s", "end_s")), strict=True):
        uploads[cells[client]] += zip(ends_s, (1, -1), strict=True)
    for cell, pid in pids.items():
        if cell != CLOUD or spent[cell] or uploads[cell]:
            yield from _counter(pid, "battery: energy spent", "energy_j", 0.0, spent[cell])
            yield from _counter(pid, "queue: uploads on their way", "num_uploads", 0, uploads[cell])


def _counter(
    pid: int, name: str, key: str, start: float, changes: Iterable[tuple[float, float]]
) -> Iterator[Event]:
    """The sum of changes from the start of the run on, with a sample at each instant at which it changes."""
    at: dict[int, float] = {0: start}
    for time_s, change in changes:
        at[_us(time_s)] = at.get(_us(time_s), start) + change
    value = start
    for ts in sorted(at):
        value += at[ts]
        if at[ts] or ts == 0:
            yield _sample(pid, name, ts, {key: value})


def _quality(result: Result, pid: int) -> Iterator[Event]:
    """Headline of the evaluations, such as accuracy."""
    if result.summary.headline is None:
        return
    column, _ = result.summary.headline
    for time_s, value in zip(result.evaluations["time_s"], result.evaluations[column], strict=True):
        if math.isfinite(value):
            yield _sample(pid, "test set", _us(time_s), {column: value})


def _sample(pid: int, name: str, ts: int, args: dict[str, float]) -> Event:
    return {"name": name, "ph": "C", "ts": ts, "pid": pid, "tid": pid, "args": args}
