"""Rows: their order, and groups of them that are handed over and written as a run goes."""

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import worlds

import cosim
import models
from cosim import Never, Result, Simulation, System, evolve, run
from cosim.configuration import lacks_in
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.engine.learning.nothing_learned import NothingLearned
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.store.row_groups import RowGroups
from cosim.engine.store.table_file import TableFile
from cosim.files.folders import LOCK
from cosim.names import by_number
from cosim.records.columns import Words
from cosim.records.rows import Span
from cosim.records.tables import TABLES
from cosim.results.tables import arrow_of, dtype_of, table_of
from cosim.system.needs import ClockKind
from cosim.testing import small_system
from cosim.testing.laws.tables import same_tables

LATE = evolve(worlds.some_late(), end=cosim.AfterRounds(num_global_rounds=6))
FEDBUFF = cosim.FedBuff(num_updates=2)
ONE_OF_A_CELL = worlds.training(selection=worlds.selection(1))
ASLEEP = worlds.alike(
    3,
    2,
    devices=worlds.processors(3e9, 2e9, 1e9, 5e8, 3e8, idle_w=0.5, sleep_w=0.03, sleeps_after_s=2e-3),
    protocol=cosim.HFedAvg(training=ONE_OF_A_CELL),
    end=cosim.AfterRounds(num_global_rounds=12),
)
"""One of a cell takes part, and the others fall asleep long before it is their turn."""


def asynchronous(protocol: cosim.Protocol, num_updates: int = 60) -> System:
    return evolve(small_system(), protocol=protocol, end=cosim.ends.AfterUpdates(num_updates=num_updates))


SYSTEMS: dict[str, System] = {
    "all alike": worlds.alike(3, 2),
    "one late": LATE,
    "over the air": worlds.over_the_air(),
    "vhfl": worlds.vhfl(),
    "rawhfl": worlds.rawhfl(),
    "first two": evolve(
        LATE, protocol=cosim.HFedAvg(training=worlds.training(waiting=cosim.waiting.FirstK(num_updates=2)))
    ),
    "cut in seconds": evolve(LATE, end=cosim.AfterSeconds(duration_s=0.047)),
    "asleep": ASLEEP,
    "asleep in cells": evolve(
        ASLEEP,
        protocol=cosim.FedBuff(num_updates=2, training=cosim.protocols.WholeCells(training=ONE_OF_A_CELL)),
        end=cosim.AfterVersions(num_versions=12),
    ),
    "fedbuff": asynchronous(FEDBUFF),
    "cells": asynchronous(
        cosim.FedAsync(training=cosim.protocols.WholeCells(training=worlds.training(waiting=worlds.DEADLINE)))
    ),
    "cells of fedbuff": evolve(
        small_system(),
        protocol=cosim.HFedAvg(training=cosim.protocols.AsynchronousTraining(protocol=FEDBUFF)),
    ),
    "cells of cells": asynchronous(
        cosim.FedAsync(
            training=cosim.protocols.WholeCells(
                training=cosim.protocols.AsynchronousTraining(protocol=FEDBUFF)
            )
        )
    ),
}
BOTH = [
    "all alike",
    "one late",
    "over the air",
    "first two",
    "cut in seconds",
    "cells",
    "asleep",
    "asleep in cells",
]
MANY_ROWS = "spans", "transfers", "fates", "rounds"
CLOCKS = dict.fromkeys(SYSTEMS, ("events",)) | dict.fromkeys(BOTH, ("events", "arrays"))
ORDER: dict[str, tuple[str, Callable[[Any], tuple[Any, ...]]]] = {
    "spans": ("end_s", lambda row: (by_number(row.node), row.start_s)),
    "transfers": ("end_s", lambda row: (by_number(row.edge), by_number(row.client), row.job)),
    "fates": ("end_s", lambda row: (by_number(row.edge), by_number(row.client), row.job)),
    "plans": ("time_s", lambda row: (by_number(row.edge), by_number(row.client), row.edge_round)),
    "rounds": ("end_s", lambda row: (row.level, by_number(row.node), row.start_s)),
    "tallies": ("end_s", lambda row: (by_number(row.edge), row.edge_round)),
    "versions": ("time_s", lambda row: (by_number(row.server), row.version)),
    "updates": ("applied_s", lambda row: (by_number(row.server), row.made_version, by_number(row.client))),
    "evaluations": ("time_s", lambda row: (row.version,)),
}


def rows_of(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples(index=False))


def check_order(result: Result, versions_s: list[float]) -> None:
    """By stretch (from one version of the global model to the next), cell and number of a client, and job."""
    ends_s = sorted(set(versions_s))
    for name, (column, key) in ORDER.items():
        table = getattr(result, name)
        stretches = np.searchsorted(ends_s, table[column], "right" if name == "plans" else "left")
        keys = [(int(of), *key(row)) for of, row in zip(stretches, rows_of(table), strict=True)]
        assert keys == sorted(keys), name
        if (
            "global_round" in table
            and result.has_rounds
            and "edge_round" in table
            and not len(result.versions)
        ):
            assert table["global_round"].is_monotonic_increasing, name


def run_of(system: System, out: Path | None = None, **options: Any) -> tuple[Result, list[float]]:
    """A run, and when its versions were made."""
    versions_s: list[float] = []
    result = run(
        system, num_workers=1, out=out, listener=lambda of: versions_s.append(of.progress.time_s), **options
    )
    return result, versions_s


@pytest.mark.parametrize("name", SYSTEMS)
def test_rows_are_in_order_and_hang_on_no_group_clock_or_tie(name: str, tmp_path: Path) -> None:
    """One order in both clocks, in memory and in files, whatever the size of a group."""
    system = evolve(SYSTEMS[name], evaluation=Never())
    usual, versions_s = run_of(system, clock="events")
    check_order(usual, versions_s)
    assert len(usual.spans) > 15
    for clock in CLOCKS[name]:
        for number, group_rows in enumerate((1, 7)):
            out = None if number == 1 else tmp_path / f"{clock}-{number}"
            other, _ = run_of(system, out, clock=clock, group_rows=group_rows, shuffle_ties=number)
            same_tables("groups", usual, other, "rows that are handed over too early or too late")
            assert other.summary == usual.summary
            assert other.updates.equals(usual.updates)
            assert other.evaluations.equals(usual.evaluations)
    with pyarrow.parquet.ParquetFile(tmp_path / "events-0" / "spans.parquet") as file:
        assert file.num_row_groups > 1
        assert file.metadata.num_rows == len(usual.spans)


@pytest.mark.quick
@pytest.mark.parametrize("records", ["all", "rounds"])
def test_evaluations_know_what_was_spent_by_then_whatever_the_groups(records: str) -> None:
    for group_rows in (1, 10**6):
        result, versions_s = run_of(LATE, group_rows=group_rows, records=records)
        check_order(result, versions_s)
        for row in rows_of(result.evaluations):
            energy_j = [
                table.loc[table["end_s"] <= row.time_s, columns].to_numpy().sum()
                for table, columns in ((result.spans, ["energy_j"]), (result.tallies, ["train_j", "send_j"]))
            ]
            assert row.energy_j == pytest.approx(sum(energy_j), rel=1e-12)
        assert result.evaluations["energy_j"].iloc[-1] == result.summary.energy_j
        assert result.evaluations["bits_per_client"].iloc[-1] == result.summary.bits_per_client


@pytest.mark.parametrize("name", ["fedbuff", "cells", "cells of cells"])
def test_an_update_has_cost_what_its_jobs_took_whatever_the_groups(name: str) -> None:
    """Added up row by row; of a cell those jobs of its turn that had ended."""
    system = evolve(SYSTEMS[name], evaluation=Never())
    for group_rows in (1, 10**6):
        result, _ = run_of(system, group_rows=group_rows)
        assert len(result.updates) > 10
        for row in rows_of(result.updates):
            jobs = result.fates[result.fates["client"] == row.client]
            jobs = jobs[jobs["job"] == row.job]
            if row.client == row.edge:
                jobs = result.fates[(result.fates["edge"] == row.edge)]
                jobs = jobs[(jobs["global_round"] == row.job + 1) & (jobs["end_s"] <= row.applied_s)]
            of = set(zip(jobs["client"], jobs["job"], strict=True))
            spent_j = [s.energy_j for s in rows_of(result.spans) if (s.node, s.job) in of]
            sent = [t.sent_bits for t in rows_of(result.transfers) if (t.client, t.job) in of]
            assert row.energy_j == pytest.approx(sum(spent_j), rel=1e-12)
            assert row.sent_bits == pytest.approx(sum(sent), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "clock"),
    [
        ("one late", "events"),
        ("one late", "arrays"),
        ("cells", "events"),
        ("cells", "arrays"),
        ("fedbuff", "events"),
    ],
)
def test_rows_in_memory_do_not_grow_with_a_run(name: str, clock: ClockKind) -> None:
    """Counted at every version of the global model."""
    most: dict[int, int] = {}
    for num in (20, 80):
        rounds = not lacks_in(SYSTEMS[name].protocol, GLOBAL_ROUNDS)
        end = cosim.AfterRounds(num_global_rounds=num) if rounds else cosim.AfterVersions(num_versions=num)
        system, counts = evolve(SYSTEMS[name], evaluation=Never(), end=end), list[int]()
        ground = ground_of(system, clock)
        sim, groups = ground.sim, RowGroups(ground.sim.recorder, system.num_clients, group_rows=30)
        learner = NothingLearned(models.build(system.model), system.data.load(sim, None), None)

        def count(
            report: object, sim: Simulation = sim, groups: RowGroups = groups, counts: list[int] = counts
        ) -> None:
            counts.append(sim.recorder.num_rows)
            groups.gather()

        cloud = nodes_of(system, ground, learner, partial(system.data.load, sim, None))
        cloud.listener = count
        sim.run(system.protocol.run(sim, cloud))
        most[num] = max(counts)
        assert len(counts) == num + 1
    assert 30 < most[20] <= most[80] < 1.3 * most[20]


@pytest.mark.quick
@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_groups_are_as_large_as_asked_where_devices_rest_and_receive(
    clock: ClockKind, tmp_path: Path
) -> None:
    """To about a global round, which ends a stretch."""
    system = worlds.alike(
        *(3, 2),
        devices=worlds.processors(3e9, 2e9, 1e9, 5e8, 3e8, idle_w=0.5),
        downlink=cosim.radio.Unicast(),
        evaluation=Never(),
        end=cosim.AfterRounds(num_global_rounds=100),
    )
    result, _ = run_of(system, tmp_path / "run", clock=clock, group_rows=1000)
    assert {"idle", "receive"} <= {*result.spans["activity"]}
    files = [pyarrow.parquet.ParquetFile(tmp_path / "run" / f"{name}.parquet").metadata for name in MANY_ROWS]
    groups = range(files[0].num_row_groups)
    *whole, _ = [sum(of.row_group(group).num_rows for of in files) for group in groups]
    of_a_round = sum(of.num_rows for of in files) / 100
    assert len(whole) > 4
    assert all(abs(num_rows - 1000) <= 1.5 * of_a_round for num_rows in whole)


def test_an_interrupt_while_rows_are_handed_over_neither_loses_nor_doubles_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is heard when all tables have their rows; the resumed run ends like one that was never stopped."""
    system = evolve(LATE, evaluation=Never())
    usual, _ = run_of(system, tmp_path / "usual", group_rows=60)
    append, num_appended = TableFile.append, 0

    def interrupted(file: TableFile, rows: pd.DataFrame) -> None:
        nonlocal num_appended
        num_appended += 1
        if num_appended == 5:
            signal.raise_signal(signal.SIGINT)
        append(file, rows)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(TableFile, "append", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run_of(system, tmp_path / "stopped", group_rows=60)
    finally:
        signal.signal(signal.SIGINT, before)
    stopped = Result.load(tmp_path / "stopped")
    assert stopped.summary.status == "interrupted"
    for name in ("spans", "transfers", "fates", "rounds"):
        rows = getattr(stopped, name)
        whole = getattr(usual, name)
        assert 0 < len(rows) < len(whole)
        assert rows.equals(whole.iloc[: len(rows)])
    run_of(system, tmp_path / "stopped", group_rows=60, resume=True)
    for name in TABLES:
        one, other = (tmp_path / which / f"{name}.parquet" for which in ("usual", "stopped"))
        assert one.read_bytes() == other.read_bytes(), name


def test_a_save_in_between_changes_no_byte_of_the_files(tmp_path: Path) -> None:
    """Groups that are copied from a file that was saved are the bytes that they were."""
    trace = [Span(f"client-{n % 7:04d}", "train", n, n + 1.0, 0.1 * n, "done", n) for n in range(40)]
    for name, saved in (("a", set()), ("b", {9, 10, 25})):
        rows, sim = (tmp_path / name), Simulation(1)
        rows.mkdir()
        groups = RowGroups(sim.recorder, 7, rows, group_rows=6)
        for number, span in enumerate(trace):
            sim.recorder.record(span)
            sim.recorder.end_stretch(span.end_s)
            groups.gather()
            if number in saved:
                groups.result({}, "running", span.end_s)
                assert pd.read_parquet(rows / "spans.parquet")["job"].tolist() == list(range(number + 1))
        groups.result({}, "complete", 40.0)
        assert not list(rows.glob(".*.partial"))
    with pyarrow.parquet.ParquetFile(tmp_path / "b" / "spans.parquet") as file:
        assert file.num_row_groups >= 6
    assert (tmp_path / "a" / "spans.parquet").read_bytes() == (tmp_path / "b" / "spans.parquet").read_bytes()


def test_rows_that_cannot_be_written_leave_what_was_saved_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there is room again when the run ends: some tables would have rows that others lack."""
    append = TableFile.append

    def fails(file: TableFile, rows: pd.DataFrame) -> None:
        if "node" not in rows:
            raise cosim.ConfigurationError("no room")
        append(file, rows)

    monkeypatch.setattr(TableFile, "append", fails)
    with pytest.raises(cosim.ConfigurationError, match="no room"):
        run_of(evolve(LATE, evaluation=Never()), tmp_path / "run", group_rows=60)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {LOCK, "config.json", "provenance.json"}


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pd.Series(["a", "b"], dtype=object), "str"),  # texts in pandas 2
        (pd.Series(["a", "b"], dtype="str"), "str"),
        (pd.Series([], dtype=object), "str"),
        (pd.Series(["a", None], dtype=object), "object"),
        (pd.Series(["a", 1], dtype=object), "object"),
        (pd.Series([1, 2]), "int64"),
        (pd.Series([1.0, 2.0]), "float64"),
        (pd.Series([True]), "bool"),
    ],
)
def test_texts_are_texts_in_any_pandas(column, dtype):
    assert dtype_of(column) == dtype


@pytest.mark.quick
@pytest.mark.parametrize("num", [0, 4])
def test_a_table_is_written_as_from_pandas(num: int) -> None:
    """Whose metadata tell a reader the types, and which has a null for what is no number."""
    columns = {
        "node": Words(["client-1", "cloud"], np.array([1, 0, 0, 1])[:num]),
        "number": np.array([3, 1, 2, 4])[:num],
        "loss": np.array([0.5, np.nan, np.inf, -0.0])[:num],
        "arrived": np.array([True, False, True, True])[:num],
    }
    found, wanted = arrow_of(columns), pa.Table.from_pandas(table_of(columns), preserve_index=False)
    assert found.schema.equals(wanted.schema, check_metadata=True)
    assert found.combine_chunks().equals(wanted.combine_chunks())
    assert found["loss"].null_count == (1 if num else 0)
