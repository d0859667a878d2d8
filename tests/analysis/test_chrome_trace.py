"""Chrome trace: by hand, by the rules of the format and of Perfetto, and read back exactly."""

import json
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cosim
import models
from analysis.chrome_trace import events, spans, write
from cosim import ConfigurationError
from cosim.engine.store.row_groups import RowGroups
from cosim.recording.kept_rows import KeptRows
from cosim.records.rows import Allotment, Evaluation, Round, Span, Transfer
from scenarios import rawhfl, vhfl
from scenarios.papers.vhfl import Traffic

Event = dict[str, Any]

KEYS = {
    "M": {"name", "ph", "pid", "tid", "args"},
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "i": {"name", "cat", "ph", "s", "ts", "pid", "tid", "args"},
    "C": {"name", "ph", "ts", "pid", "tid", "args"},
}
ROUND = [
    "global_round",
    "edge_round",
    "start_s",
    "end_s",
    "num_wanted",
    "num_present",
    "num_participants",
    "num_arrived",
]
TABLES = ("spans", "transfers", "fates", "plans", "rounds", "evaluations")


def result_of(*rows: Any, **system: Any) -> cosim.Result:
    trace = KeptRows()
    for row in rows:
        trace.record(row)
    config = {"scenario": "by hand", "system": system}
    return RowGroups(trace, system.get("num_clients", 5)).result(config, "interrupted", 0.0)


def by_hand() -> cosim.Result:
    """Two cells: client a sends in time, b is cut, c only ever trains and is known from its plan."""
    return result_of(
        Span("a", "train", 0.0, 0.010, 1.0, "done"),
        Span("b", "train", 0.0, 0.020, 2.0, "done"),
        Span("c", "train", 0.0, 0.030, 4.0, "deadline"),
        Span("a", "send", 0.010, 0.015, 0.25, "done"),
        Span("b", "send", 0.020, 0.030, 0.5, "deadline"),
        Span("east", "send", 0.030, 0.031, 8.0, "done"),
        Transfer("a", "east", 1, 0, 0.010, 0.015, 800, 800.0, True),
        Transfer("b", "east", 1, 0, 0.012, 0.030, 800, 300.0, False),
        Allotment("c", "west", 1, 0, 0.0, True, True, 5, 1e9, 0.1, 0.02, 4.0),
        Round("edge", "east", 1, 0, 0.0, 0.030, 2, 2, 2, 1),
        Round("edge", "west", 1, 0, 0.0, 0.030, 2, 2, 1, 0),
        Round("global", "cloud", 1, -1, 0.0, 0.031, 2, 2, 2, 2),
        Evaluation(0.0, 0, {"accuracy": 0.1, "loss_nats": 2.3}, cosim.tasks.Classification().measures()),
        Evaluation(0.031, 1, {"accuracy": 0.5, "loss_nats": 1.2}, cosim.tasks.Classification().measures()),
        seed=7,
    )


def hist(out: Path | None = None) -> cosim.Result:
    """Some uploads are cut, and the slowest client never gets as far as an upload."""
    training = cosim.EdgeTraining(
        num_edge_rounds=2,
        steps=cosim.SameSteps(num_local_steps=3),
        local=cosim.Sgd(batch_size=10),
        waiting=cosim.Deadline(deadline_s=0.0011),
    )
    system = cosim.System(
        num_cells=2,
        num_clients=5,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(),
        topology=cosim.topology.Disc(backhaul_delay_s=1e-4),
        uplink=cosim.Radio(sharing=cosim.radio.RedividedShares(bandwidth_hz=1e6)),
        protocol=cosim.Hist(training=training),
        end=cosim.AfterRounds(num_global_rounds=3),
    )
    return cosim.run(system, models.build(system.model), scenario="tiny", out=out)


def through_queues() -> cosim.Result:
    base = vhfl.system()
    data = cosim.evolve(base.data, traffic=Traffic(num_days=4))
    protocol = cosim.evolve(base.protocol, num_local_epochs=1)
    system = cosim.evolve(
        base,
        data=data,
        protocol=protocol,
        end=cosim.AfterRounds(num_global_rounds=20),
        evaluation=cosim.ends.EveryVersions(num_versions=10),
    )
    return cosim.run(system)


def with_plans() -> cosim.Result:
    base = rawhfl.system()
    protocol = cosim.evolve(base.protocol, num_edge_rounds=2, max_local_rounds=3)
    system = cosim.evolve(
        base, protocol=protocol, end=cosim.AfterRounds(num_global_rounds=2), evaluation=cosim.Never()
    )
    return cosim.run(system)


def nothing() -> cosim.Result:
    return result_of()


MADE: dict[Callable[[], cosim.Result], cosim.Result] = {}


@pytest.fixture(params=[by_hand, hist, through_queues, with_plans, nothing], ids=lambda f: f.__name__)
def result(request: pytest.FixtureRequest) -> cosim.Result:
    if request.param not in MADE:
        MADE[request.param] = request.param()
    return MADE[request.param]


@pytest.fixture
def hist_result() -> cosim.Result:
    if hist not in MADE:
        MADE[hist] = hist()
    return MADE[hist]


def of(made: list[Event], phase: str) -> list[Event]:
    return [event for event in made if event["ph"] == phase]


def names(made: list[Event], what: str) -> dict[int, str]:
    """Process or thread names by number."""
    key = "pid" if what == "process_name" else "tid"
    return {event[key]: event["args"]["name"] for event in made if event["name"] == what}


def samples(made: list[Event], process: str, key: str) -> list[tuple[int, float]]:
    processes = names(made, "process_name")
    found = [event for event in of(made, "C") if processes[event["pid"]] == process and key in event["args"]]
    return [(event["ts"], event["args"][key]) for event in found]


# By hand.


def test_tracks_by_hand():
    made = events(by_hand())
    processes, threads = names(made, "process_name"), names(made, "thread_name")
    tracks = defaultdict(list)
    for event in made:
        if event["name"] == "thread_name":
            tracks[processes[event["pid"]]].append(threads[event["tid"]])
    assert dict(tracks) == {
        "cloud": ["cloud rounds", "cloud"],
        "east": ["east rounds", "east", "a", "b"],
        "west": ["west rounds", "west", "c"],
    }
    order = [event["args"]["sort_index"] for event in made if event["name"] == "process_sort_index"]
    assert order == [0, 1, 2]
    places = [event["args"]["sort_index"] for event in made if event["name"] == "thread_sort_index"]
    assert places == [0, 1, 0, 1, 2, 3, 0, 1, 2]


def test_slices_by_hand():
    made = events(by_hand())
    threads = names(made, "thread_name")
    found = {(threads[event["tid"]], event["name"]): event for event in of(made, "X")}
    assert {key: (event["ts"], event["dur"]) for key, event in found.items()} == {
        ("a", "train"): (0, 10_000),
        ("b", "train"): (0, 20_000),
        ("c", "train"): (0, 30_000),
        ("a", "send"): (10_000, 5_000),
        ("b", "send"): (20_000, 10_000),
        ("east", "send"): (30_000, 1_000),
        ("east rounds", "edge round 1.0"): (0, 30_000),
        ("west rounds", "edge round 1.0"): (0, 30_000),
        ("cloud rounds", "global round 1"): (0, 31_000),
    }
    args = {"start_s": 0.020, "end_s": 0.030, "energy_j": 0.5, "outcome": "deadline", "job": -1, "row": 3}
    assert found["b", "send"]["args"] == args
    told = found["west rounds", "edge round 1.0"]["args"]
    assert (told["num_wanted"], told["num_participants"], told["num_arrived"]) == (2, 1, 0)
    (drop,) = of(made, "i")
    assert (drop["name"], threads[drop["tid"]], drop["ts"], drop["s"]) == ("dropped upload", "b", 30_000, "t")
    assert (drop["args"]["payload_bits"], drop["args"]["sent_bits"]) == (800, 300.0)


def test_counters_by_hand():
    """East: 1 J by 10 ms, 0.25 J more by 15 ms, 2 J by 20 ms, 0.5 J by 30 ms, and not its server's 8 J."""
    made = events(by_hand())
    spent = [(0, 0.0), (10_000, 1.0), (15_000, 1.25), (20_000, 3.25), (30_000, 3.75)]
    assert samples(made, "east", "energy_j") == spent
    assert samples(made, "west", "energy_j") == [(0, 0.0), (30_000, 4.0)]
    uploads = [(0, 0), (10_000, 1), (12_000, 2), (15_000, 1), (30_000, 0)]
    assert samples(made, "east", "num_uploads") == uploads
    assert samples(made, "west", "num_uploads") == [(0, 0)]
    assert samples(made, "cloud", "accuracy") == [(0, 0.1), (31_000, 0.5)]
    assert samples(made, "cloud", "num_uploads") == samples(made, "cloud", "energy_j") == []


def test_file_by_hand(tmp_path: Path):
    path = tmp_path / "a.json"
    assert write(by_hand(), path) == len(events(by_hand()))
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read == {
        "displayTimeUnit": "ms",
        "otherData": {"scenario": "by hand", "seed": 7, "status": "interrupted"},
        "traceEvents": events(by_hand()),
    }


@pytest.mark.parametrize(
    ("start_s", "end_s", "ts", "dur"),
    [
        (0.5e-6, 1.5e-6, 0, 2),  # half to even: 0 and 2
        (1e-7, 4e-7, 0, 0),
        (4e-7, 7e-7, 0, 1),
        (1.4e-6, 2.6e-6, 1, 2),
        (599.9999996, 600.0000014, 600_000_000, 1),
    ],
)
def test_ends_are_rounded_and_not_durations(start_s: float, end_s: float, ts: int, dur: int):
    made = events(result_of(Span("a", "train", start_s, end_s, 1.0, "done")))
    assert [(event["ts"], event["dur"]) for event in of(made, "X")] == [(ts, dur)]


def test_adjacent_spans_stay_adjacent():
    """0.6 µs each: rounded durations, all 1 µs, would drift apart from the starts."""
    ends_s = [0.6e-6 * number for number in range(1001)]
    rows = [Span("a", "train", *ends, 0.0, "done") for ends in pairwise(ends_s)]
    slices = of(events(result_of(*rows)), "X")
    assert len({event["tid"] for event in slices}) == 1
    for before, after in pairwise(slices):
        assert before["ts"] + before["dur"] == after["ts"]
    assert sum(event["dur"] for event in slices) == 600


def test_clients_without_an_upload_are_where_the_configuration_puts_them():
    """Five clients in two cells: three and two, or by the sizes that are given."""
    trained = [Span(f"client-000{number}", "train", 0.0, 1.0, 1.0, "deadline") for number in range(5)]

    def cells(*rows: Any, **system: Any) -> dict[str, str]:
        made = events(result_of(*rows, **system))
        processes, threads = names(made, "process_name"), names(made, "thread_name")
        return {threads[event["tid"]]: processes[event["pid"]] for event in of(made, "X")}

    def dealt(*edges: str) -> dict[str, str]:
        return {span.node: edge for span, edge in zip(trained, edges, strict=True)}

    east, west = "edge-00", "edge-01"
    assert cells(*trained, num_clients=5, num_cells=2) == dealt(east, east, east, west, west)
    sizes = {"num_clients": 5, "num_cells": 2, "cell_sizes": [1, 4]}
    assert cells(*trained, **sizes) == dealt(east, west, west, west, west)
    moved = Transfer("client-0000", west, 1, 0, 0.0, 1.0, 8, 8.0, True)
    assert cells(*trained, moved, **sizes) == dealt(west, west, west, west, west)
    assert set(cells(*trained).values()) == {"unknown cell"}


def test_spans_that_overlap_go_to_two_tracks_of_one_name():
    rows = [Span("e", "send", 0.0, 2.0, 0.0, "done"), Span("e", "send", 1.0, 3.0, 0.0, "done")]
    rows += [Span("e", "send", 2.0, 4.0, 0.0, "done")]
    made = result_of(*rows, Round("edge", "e", 1, 0, 0.0, 4.0, 1, 1, 1, 1))
    check_nesting(events(made))
    threads = names(events(made), "thread_name")
    assert Counter(threads.values()) == {"cloud": 1, "cloud rounds": 1, "e": 2, "e rounds": 1}
    first, second, third = (event["tid"] for event in of(events(made), "X") if event["cat"] == "span")
    assert first == third != second
    pd.testing.assert_frame_equal(spans(events(made)), made.spans, check_exact=True)


def test_processes_are_the_cloud_then_cells_by_name_then_the_unknown_one():
    rows = [Round("edge", edge, 1, 0, 0.0, 1.0, 1, 1, 1, 1) for edge in ("zeta", "alpha", "unknown")]
    made = events(result_of(*rows, Span("x", "train", 0.0, 1.0, 1.0, "done")))
    order = ["cloud", "alpha", "unknown", "zeta", "unknown cell"]
    assert list(names(made, "process_name").values()) == order
    assert samples(made, "unknown cell", "energy_j") == [(0, 0.0), (1_000_000, 1.0)]


def test_counters_have_no_sample_where_nothing_changes():
    """One upload ends as the next one starts; waiting takes no energy."""
    uploads = [
        Transfer(name, "e", 1, 0, *ends, 8, 8.0, True) for name, ends in (("a", (0, 1)), ("b", (1, 2)))
    ]
    made = events(result_of(*uploads, Span("a", "wait", 0.0, 1.0, 0.0, "done")))
    assert samples(made, "e", "num_uploads") == [(0, 1), (2_000_000, 0)]
    assert samples(made, "e", "energy_j") == [(0, 0.0)]


def test_uploads_straight_to_the_cloud_are_counted_there():
    made = events(result_of(Transfer("a", "cloud", 1, 0, 1.0, 2.0, 8, 8.0, True)))
    assert samples(made, "cloud", "num_uploads") == [(0, 0), (1_000_000, 1), (2_000_000, 0)]


def test_errors_of_a_model_that_diverged_are_left_out():
    errors = [1.5, math.inf, math.nan, 0.25]
    measures = {"error_m": cosim.records.Measure("error (m)", higher_is_better=False)}
    rows = [Evaluation(float(number), number, {"error_m": of}, measures) for number, of in enumerate(errors)]
    made = result_of(*rows)
    assert samples(events(made), "cloud", "error_m") == [(0, 1.5), (3_000_000, 0.25)]


# Rules of the format, and of Perfetto.


def test_every_event_keeps_to_the_format(result: cosim.Result):
    made = events(result)
    processes, threads = names(made, "process_name"), names(made, "thread_name")
    for event in made:
        assert set(event) == KEYS[event["ph"]]
        assert type(event["pid"]) is type(event["tid"]) is int
        assert event["pid"] in processes
        assert event["tid"] in threads
        assert all(type(event[key]) is int and event[key] >= 0 for key in ("ts", "dur") if key in event)
    pids = {(event["tid"], event["pid"]) for event in made}
    assert len(pids) == len(threads)  # no thread number in two processes
    assert len(set(processes.values())) == len(processes)
    timed = [event["ts"] for event in made if event["ph"] != "M"]
    assert timed == sorted(timed)
    assert all(event["ph"] == "M" for event in made[: len(made) - len(timed)])
    assert made == json.loads(json.dumps(made, allow_nan=False))


def check_nesting(made: list[Event]) -> None:
    """Each slice and instant on the bottom of its thread's stack, by the rules of Perfetto's importer."""
    stacks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in made:
        if event["ph"] not in "Xi":
            continue
        stack, start, duration = stacks[event["tid"]], event["ts"], event.get("dur", 0)
        while stack:
            top_end, top_duration = stack[-1]
            if top_end < start or (top_end == start and (top_duration or duration)):
                stack.pop()
            else:
                break
        assert not stack or (stack[-1][1], duration) == (0, 0), event
        stack.append((start + duration, duration))


def test_nothing_overlaps_on_a_thread(result: cosim.Result):
    check_nesting(events(result))
    lasting: dict[int, int] = defaultdict(int)
    for event in of(events(result), "X"):
        assert event["ts"] >= lasting[event["tid"]]
        lasting[event["tid"]] = event["ts"] + event["dur"]


def test_no_node_of_ours_needs_a_second_track(result: cosim.Result):
    threads = list(names(events(result), "thread_name").values())
    assert len(set(threads)) == len(threads)


# What a run says is all there.


def test_spans_come_back_exactly(result: cosim.Result, tmp_path: Path):
    pd.testing.assert_frame_equal(spans(events(result)), result.spans, check_exact=True)
    write(result, tmp_path / "a.json")
    read = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["traceEvents"]
    pd.testing.assert_frame_equal(spans(read), result.spans, check_exact=True)


def test_rows_come_back_in_their_order_whatever_it_was(hist_result: cosim.Result):
    shuffled = hist_result.spans.sample(frac=1.0, random_state=3, ignore_index=True)
    assert not shuffled.equals(hist_result.spans)
    made = events(hist_result.with_tables(spans=shuffled))
    pd.testing.assert_frame_equal(spans(made), shuffled, check_exact=True)
    check_nesting(made)
    assert names(made, "thread_name") == names(events(hist_result), "thread_name")


def test_rounds_and_drops_are_those_of_the_tables(result: cosim.Result):
    made = events(result)
    threads = names(made, "thread_name")
    found = Counter(
        (threads[event["tid"]].removesuffix(" rounds"), *(event["args"][key] for key in ROUND))
        for event in of(made, "X")
        if event["cat"] == "round"
    )
    assert found == Counter(result.rounds[["node", *ROUND]].itertuples(index=False, name=None))
    drops = Counter((threads[event["tid"]], event["args"]["sent_bits"]) for event in of(made, "i"))
    dropped = result.transfers[~result.transfers["arrived"].astype(bool)]
    assert drops == Counter(zip(dropped["client"], dropped["sent_bits"], strict=True))


def test_counters_agree_with_the_tables(result: cosim.Result):
    """Energy only grows, to the sum of the cell's clients; uploads end at 0, at most one for each client."""
    made = events(result)
    energy_j = 0.0
    for process in set(names(made, "process_name").values()) - {"cloud"}:
        spent = samples(made, process, "energy_j")
        assert spent[0][0] == 0
        assert all(before[1] < after[1] for before, after in pairwise(spent))
        energy_j += spent[-1][1]
        uploads = [value for _, value in samples(made, process, "num_uploads")]
        ours = result.transfers[result.transfers["edge"] == process]
        assert uploads[0] == uploads[-1] == 0
        assert 0 == min(uploads) <= max(uploads) <= ours["client"].nunique()
        starts, ends = (sorted(round(1e6 * time_s) for time_s in ours[name]) for name in ("start_s", "end_s"))
        for ts, value in samples(made, process, "num_uploads"):
            assert value == bisect_right(starts, ts) - bisect_right(ends, ts)
        assert {*starts, *ends} - {ts for ts, _ in samples(made, process, "num_uploads")} <= {*starts} & {
            *ends
        }
    of_clients = ~result.spans["node"].isin(set(result.rounds["node"]))
    assert energy_j == pytest.approx(float(result.spans["energy_j"][of_clients].sum()), rel=1e-12)


def test_runs_have_what_these_tests_are_about(hist_result: cosim.Result):
    """Drops, uploads side by side, spans of edge servers, and a client that is always cut before it sends."""
    made = events(hist_result)
    assert len(of(made, "i")) > 0
    assert {"receive", "send"} <= {e["name"] for e in of(made, "X") if e["tid"] in servers(made)}
    silent = set(hist_result.spans["node"]) - set(hist_result.transfers["client"]) - {"edge-00", "edge-01"}
    assert silent == {"client-0001"}
    threads, processes = names(made, "thread_name"), names(made, "process_name")
    homes = {threads[event["tid"]]: processes[event["pid"]] for event in of(made, "X")}
    assert homes["client-0001"] == "edge-00"


def servers(made: list[Event]) -> set[int]:
    return {number for number, name in names(made, "thread_name").items() if name in ("edge-00", "edge-01")}


def test_a_loaded_run_gives_the_same_bytes(tmp_path: Path, hist_result: cosim.Result):
    folder = tmp_path / "run"
    hist(folder)
    write(hist_result, tmp_path / "a.json")
    write(cosim.Result.load(folder), tmp_path / "b.json")
    write(hist(), tmp_path / "c.json")
    first = (tmp_path / "a.json").read_bytes()
    assert first == (tmp_path / "b.json").read_bytes() == (tmp_path / "c.json").read_bytes()


# Damage.


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("spans", "end_s", math.nan, "end_s lacks a value"),
        ("spans", "end_s", math.inf, "end_s must be finite and not negative"),
        ("spans", "end_s", 1e-9, "end_s must not lie before start_s"),
        ("spans", "start_s", -1.0, "start_s must be finite and not negative"),
        ("spans", "energy_j", -1.0, "energy_j must be finite and not negative"),
        ("transfers", "sent_bits", math.inf, "sent_bits must be finite"),
        ("rounds", "end_s", -1.0, "end_s must be finite"),
        ("evaluations", "time_s", math.inf, "time_s must be finite"),
        ("spans", "start_s", "soon", "start_s are no numbers"),
    ],
)
def test_damaged_tables_are_refused_and_nothing_is_written(
    tmp_path: Path, table: str, column: str, value: Any, message: str
):
    whole = by_hand()
    damaged = getattr(whole, table).copy()
    damaged[column] = damaged[column].astype(object if isinstance(value, str) else float)
    damaged.loc[len(damaged) - 1, column] = value
    broken = whole.with_tables(**{table: damaged})
    path = tmp_path / "a.json"
    write(whole, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"the table of {table} is damaged: {message}"):
        write(broken, path)
    assert [found.name for found in tmp_path.iterdir()] == ["a.json"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", TABLES)
def test_tables_without_a_column_are_refused(table: str):
    whole = by_hand()
    column = {"spans": "node", "rounds": "node", "evaluations": "time_s"}.get(table, "client")
    broken = whole.with_tables(**{table: whole.tables[table].drop(columns=column)})
    with pytest.raises(ValueError, match=f"the table of {table} is damaged: it has no column {column}"):
        events(broken)


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "taken").mkdir()
    with pytest.raises(ConfigurationError, match="taken: cannot be written"):
        write(by_hand(), tmp_path / "taken")
    with pytest.raises(ConfigurationError, match="No such file"):
        write(by_hand(), tmp_path / "nowhere" / "a.json")

    def full(path: Path, text: str, **_: Any) -> int:
        with path.open("w") as half:
            half.write(text[: len(text) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ConfigurationError, match=r"No space left.*Make room on the disk"):
        write(by_hand(), tmp_path / "a.json")
    assert [found.name for found in tmp_path.iterdir()] == ["taken"]


def test_an_interrupted_run_has_what_was_run():
    """Cut in its first round: spans, no round and no evaluation."""
    made = result_of(Span("client-0000", "train", 0.0, 1.0, 2.0, "done"), num_clients=1, num_cells=1)
    assert [event["name"] for event in of(events(made), "X")] == ["train"]
    assert samples(events(made), "edge-00", "energy_j") == [(0, 0.0), (1_000_000, 2.0)]
    assert set(names(events(made), "process_name").values()) == {"cloud", "edge-00"}
