"""A run: the same tables from the same seed, a folder that is whole or not there, and interruptions."""

import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import time
import weakref
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest
import warm
import worlds

import models
from cosim import (
    AfterRounds,
    ConfigurationError,
    Deadline,
    FashionMnist,
    FixedShares,
    GivenSnr,
    HFedAvg,
    Hist,
    Never,
    PerGroup,
    Radio,
    Result,
    Simulation,
    System,
    evolve,
    run,
)
from cosim.configuration import from_dict, lacks_in, to_dict
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.data import Synthetic
from cosim.ends import AfterUpdates, EveryVersions
from cosim.engine.learning.workers import num_cores
from cosim.engine.run.options import RunOptions
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.row_groups import RowGroups
from cosim.files.folders import LOCK
from cosim.jobs.job import Job
from cosim.radio import RedividedShares
from cosim.records.rows import DONE, Span
from cosim.testing import small_system
from cosim.topology.graph import graph_of
from cosim.training.local_steps import SameSteps
from cosim.waiting import FirstK, Waiting
from scenarios.command_line import main
from scenarios.command_line.catalogue import catalogue, find
from scenarios.papers.rawhfl import RawHfl
from scenarios.papers.vhfl import Vhfl

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

ROOT = Path(__file__).parents[3]
TABLES = (
    "spans",
    "transfers",
    "fates",
    "plans",
    "rounds",
    "tallies",
    "versions",
    "updates",
    "clients",
    "stations",
    "evaluations",
)
FILES = {
    "config.json",
    "provenance.json",
    "summary.json",
    "checkpoint.npz",
    *(f"{name}.parquet" for name in TABLES),
}

TINY = evolve(
    small_system(),
    seed=5,
    uplink=Radio(sharing=RedividedShares(bandwidth_hz=1e6)),
    protocol=Hist(training=worlds.training(waiting=Deadline(deadline_s=0.0015))),
)


def run_of(system: System, **options: object) -> Result:
    return run(system, models.build(system.model), **options)


def tables(folder: Path) -> dict[str, bytes]:
    """Content that has to be the same, bit for bit."""
    names = [f"{name}.parquet" for name in TABLES] + ["summary.json"]
    return {name: (folder / name).read_bytes() for name in names}


def rows(result: Result) -> dict[str, list[tuple[object, ...]]]:
    """Rows of each table, with None for nan, which is not itself."""
    frames = {name: getattr(result, name).astype(object) for name in TABLES}
    known = {name: frame.where(frame.notna(), None) for name, frame in frames.items()}
    return {name: list(frame.itertuples(index=False, name=None)) for name, frame in known.items()}


def small(system: System) -> System:
    """A scenario in about a second: few clients and rounds, and data that come with the code."""
    if system.num_clients > 1_000:
        system = evolve(system, num_cells=4, num_clients=60)
    if isinstance(system.protocol, Vhfl):
        protocol = evolve(system.protocol, num_local_epochs=1)
        system = evolve(system, end=AfterRounds(num_global_rounds=5))
        traffic = evolve(system.data.traffic, num_days=4)
        return evolve(system, protocol=protocol, data=evolve(system.data, traffic=traffic))
    if isinstance(system.protocol, RawHfl):
        protocol = evolve(system.protocol, num_edge_rounds=2, max_local_rounds=3)
        return evolve(system, protocol=protocol, end=AfterRounds(num_global_rounds=2))
    rounds, training = not lacks_in(system.protocol, GLOBAL_ROUNDS), system.protocol.training
    training = evolve(
        training, **({"steps": SameSteps(num_local_steps=4)} if rounds else {"num_local_steps": 4})
    )
    end = AfterRounds(num_global_rounds=3) if rounds else AfterUpdates(num_updates=60)
    system = evolve(system, protocol=evolve(system.protocol, training=training), end=end)
    if isinstance(system.data, FashionMnist):
        system = evolve(system, data=Synthetic(split=system.data.split), model="relu-12-24-4")
    return system


# The same seed.


def test_same_seed_same_files_whatever_the_number_of_workers(tmp_path: Path) -> None:
    for name, num_workers in (("a", 1), ("b", 1), ("c", 2)):
        run_of(TINY, out=tmp_path / name, num_workers=num_workers)
    assert tables(tmp_path / "a") == tables(tmp_path / "b") == tables(tmp_path / "c")
    other = tables_of_seed(2, tmp_path / "d")
    usual = tables(tmp_path / "a")
    empty = {"plans.parquet", "tallies.parquet", "stations.parquet"}  # no plans or queues; rows are kept
    empty |= {"versions.parquet", "updates.parquet"}  # it runs rounds
    assert {name for name in other if other[name] == usual[name]} == empty


def tables_of_seed(seed: int, folder: Path) -> dict[str, bytes]:
    run_of(evolve(TINY, seed=seed), out=folder)
    return tables(folder)


@pytest.mark.parametrize("name", catalogue("run"))
def test_neither_the_order_of_simultaneous_events_nor_learning_changes_a_table_of_a_scenario(
    name: str,
) -> None:
    """A timing-only run has the very rows of a run that learns, without what clients hold of the data."""
    system = small(find("run", name).system())
    learns, times = (evolve(system, evaluation=found) for found in (EveryVersions(), Never()))
    usual = run_of(learns), run_of(times)
    assert len(usual[0].spans) > 100
    assert rows(run_of(learns, shuffle_ties=0)) == rows(usual[0])
    for order in (1, 2):
        assert rows(run_of(times, shuffle_ties=order)) == rows(usual[1])
    held = ["num_samples", "num_labels", "accuracy"]
    learned, timed = (
        rows(run.with_tables(clients=run.clients.drop(columns=held, errors="ignore"))) for run in usual
    )
    assert learned.pop("evaluations") != timed.pop("evaluations")
    assert learned == timed


@pytest.mark.parametrize("protocol", [Hist, HFedAvg])
@pytest.mark.parametrize("sharing", [FixedShares, RedividedShares])
@pytest.mark.parametrize("num_participants", [None, 2])
@pytest.mark.parametrize("waiting", [FirstK(num_updates=1), Deadline(deadline_s=1.5e-3)])
def test_order_of_simultaneous_events_changes_no_table_where_all_are_simultaneous(
    protocol: type, sharing: type, num_participants: int | None, waiting: Waiting
) -> None:
    """All arrive at once, and one is taken; or, in HIST, the deadline comes as their training ends."""
    training = worlds.training(selection=worlds.selection(num_participants), waiting=waiting)
    system = worlds.alike(
        3,
        2,
        uplink=worlds.still(3.0, sharing=sharing(bandwidth_hz=1e6)),
        protocol=protocol(training=training),
    )
    expected = rows(run_of(system))
    for order in range(4):
        assert rows(run_of(system, shuffle_ties=order)) == expected


# Named randomness.


def snr_of(edge, client, number: int) -> float:
    place = edge.clients.numbers.tolist().index(client.number)
    return edge.route.uplink.link.snr_per_w(slice(None), 1.0, Job(number, 0, number)).item(place)


def draws(system: System) -> dict[str, tuple[float, ...]]:
    """Distance, frequency and gains of every client."""
    _, _, cloud = worlds.built(system)
    graph = graph_of(system.topology, system.sizes(), Simulation(system.seed))
    return {
        client.name: (
            graph.edges[edge.name, client.name]["distance_m"],
            *graph.nodes[client.name]["position_m"],
            client.device.frequency_hz,
            *(snr_of(edge, client, number) for number in (1, 2, 3)),
        )
        for edge in cloud.edges
        for client in edge.clients
    }


def test_another_client_or_bandwidth_moves_nobody_elses_draws() -> None:
    before = draws(TINY)
    assert len({value for values in before.values() for value in values}) == 5 * 7
    another = draws(evolve(TINY, num_clients=6, cell_sizes=(3, 3)))
    assert {name: another[name] for name in before} == before
    wider = draws(evolve(TINY, uplink=evolve(TINY.uplink, sharing=RedividedShares(bandwidth_hz=7e6))))
    assert wider == before
    quieter = draws(evolve(TINY, evaluation=Never(), protocol=HFedAvg()))
    assert quieter == before
    assert not set(draws(evolve(TINY, seed=2)).values()) & set(before.values())


# The folder.


def test_folder_holds_config_provenance_tables_and_summary_and_nothing_else(tmp_path: Path) -> None:
    result = run_of(TINY, out=tmp_path / "a" / "b", scenario="tiny")
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {LOCK, *FILES}
    config = json.loads((tmp_path / "a" / "b" / "config.json").read_text())
    assert config["scenario"] == "tiny"
    assert from_dict(System, config["system"]) == TINY
    provenance = json.loads((tmp_path / "a" / "b" / "provenance.json").read_text())
    assert provenance["seed"] == TINY.seed
    assert provenance["versions"]["torch"]
    summary = json.loads((tmp_path / "a" / "b" / "summary.json").read_text())
    checksums = summary.pop("checksums")
    assert summary == json.loads(json.dumps(result.summary._asdict()))
    hashes = {
        name: hashlib.sha256((tmp_path / "a" / "b" / f"{name}.parquet").read_bytes()) for name in TABLES
    }
    assert checksums == {name: found.hexdigest() for name, found in hashes.items()}


def test_loading_gives_back_what_the_run_gave(tmp_path: Path) -> None:
    result = run_of(TINY, out=tmp_path / "a")
    loaded = Result.load(tmp_path / "a")
    assert loaded.summary == result.summary
    assert loaded.config == result.config
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(result, name), check_exact=True)


def test_summary_and_evaluations_add_up_the_rows() -> None:
    training = worlds.training(waiting=worlds.DEADLINE)
    result = run_of(worlds.some_late(protocol=Hist(training=training)))
    summary = result.summary
    assert (summary.status, summary.num_global_rounds) == ("complete", 3)
    assert summary.time_s == result.rounds["end_s"].max()
    assert summary.energy_j == pytest.approx(result.spans["energy_j"].sum(), rel=1e-12)
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    assert summary.num_updates == 3 * 2 * 5 == edge_rounds["num_participants"].sum()
    assert summary.num_dropped == 3 * 2 * 2 == 30 - edge_rounds["num_arrived"].sum()
    assert summary.bits_per_client == pytest.approx(result.transfers["sent_bits"].sum() / 5, rel=1e-12)
    assert summary.scores["accuracy"] == result.evaluations["accuracy"].iloc[-1]
    for row in result.evaluations.itertuples():
        spans = result.spans[result.spans["end_s"] <= row.time_s]
        transfers = result.transfers[result.transfers["end_s"] <= row.time_s]
        assert row.energy_j == pytest.approx(spans["energy_j"].sum(), rel=1e-12)
        assert row.bits_per_client == pytest.approx(transfers["sent_bits"].sum() / 5, rel=1e-12)


def test_existing_folder_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    run_of(TINY, out=tmp_path / "a")
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    with pytest.raises(ConfigurationError, match=r"a: exists"):
        run_of(evolve(TINY, seed=2), out=tmp_path / "a")
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == before


def test_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"cannot be written.*Use a folder of yours"):
        run_of(TINY, out=tmp_path / "file" / "a")
    assert (tmp_path / "file").read_text() == "mine"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (evolve(TINY, model="relu-13-8-4"), "features"),
        (evolve(TINY, model="relu-12-8-3"), r"must be \(1, 4\), which Classification wants"),
        (evolve(TINY, num_cells=5, model="relu-12-4-4"), "5 cells for the 4 units"),
        (evolve(TINY, num_clients=700), "1200 samples"),
    ],
)
def test_what_cannot_run_is_refused_before_there_is_a_folder(
    wrong: System, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        run_of(wrong, out=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_number_of_workers_is_checked(tmp_path: Path) -> None:
    for num_workers in (0, -1):
        with pytest.raises(ConfigurationError, match="num_workers"):
            run_of(TINY, num_workers=num_workers, out=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run, to be copied."""
    folder = tmp_path_factory.mktemp("whole") / "a"
    run_of(evolve(TINY, evaluation=Never()), out=folder)
    return folder


@pytest.mark.parametrize("damaged", sorted(FILES - {"provenance.json", "checkpoint.npz"}))
@pytest.mark.parametrize("how", ["missing", "cut short"])
def test_damaged_folder_is_refused(damaged: str, how: str, whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "a")
    path = tmp_path / "a" / damaged
    content = path.read_bytes()
    path.unlink()
    if how == "cut short":
        path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ConfigurationError, match="cannot be read as a run folder"):
        Result.load(tmp_path / "a")


@pytest.mark.parametrize("written_by", ["99.0.0", "1.0.0rc1", "0.1.1"])
def test_a_folder_of_a_newer_version_is_refused(
    written_by: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(whole, tmp_path / "a")
    path = tmp_path / "a" / "provenance.json"
    origin = json.loads(path.read_text())
    own = origin["versions"]["cosim"]
    for found in (own, "0.0.9", None):
        path.write_text(json.dumps(origin | {"versions": {"cosim": found}}))
        Result.load(tmp_path / "a")
    path.write_text(json.dumps(origin | {"versions": {"cosim": written_by}}))
    message = f"{tmp_path / 'a'}: written by cosim {written_by}, and this is {own}. Use a newer cosim"
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        Result.load(tmp_path / "a")
    path.write_text(json.dumps(origin | {"resumed": [{"versions": {"cosim": written_by}}]}))
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        Result.load(tmp_path / "a")
    folder = str(tmp_path / "a")
    for command in (
        ["run", "--resume", folder],
        ["run", "--config", f"{folder}/config.json"],
        ["report", folder],
        ["trace", folder],
    ):
        with pytest.raises(SystemExit) as refused:
            main(command)
        assert refused.value.code == 2
        assert message in capsys.readouterr().err


# Interruptions.


def test_interrupted_run_keeps_what_was_finished(tmp_path: Path) -> None:
    def interrupt(report: VersionReport) -> None:
        if report.version == 2:
            raise KeyboardInterrupt

    complete = run_of(TINY, out=tmp_path / "complete")
    with pytest.raises(KeyboardInterrupt):
        run_of(TINY, out=tmp_path / "a", listener=interrupt)
    cut = Result.load(tmp_path / "a")
    assert {path.name for path in (tmp_path / "a").iterdir()} == {LOCK, *FILES}
    assert (cut.summary.status, cut.summary.num_global_rounds) == ("interrupted", 2)
    end_s = cut.summary.time_s
    assert end_s == complete.rounds["end_s"][complete.rounds["global_round"] == 2].max()
    for name, ended in (
        ("spans", "end_s"),
        ("transfers", "end_s"),
        ("rounds", "end_s"),
        ("evaluations", "time_s"),
    ):
        table = getattr(complete, name)
        finished = table[table[ended] <= end_s].reset_index(drop=True)
        pd.testing.assert_frame_equal(getattr(cut, name), finished, check_exact=True)


def test_a_save_that_fails_half_way_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is left beside it."""
    sim = Simulation(1)
    groups = RowGroups(sim.recorder, 1, tmp_path)
    before = groups.result({"system": {}}, "running", 0.0)
    old = tables(tmp_path)

    def break_off(writer: object, table: object, **options: object) -> None:
        raise KeyboardInterrupt

    sim.recorder.record(Span("client-0000", "train", 0.0, 1.0, 0.5, DONE))
    with monkeypatch.context() as patch:
        patch.setattr(pyarrow.parquet.ParquetWriter, "write_table", break_off)
        with pytest.raises(KeyboardInterrupt):
            groups.result({"system": {}}, "running", 1.0)
    assert tables(tmp_path) == old
    assert not list(tmp_path.glob(".*"))
    assert len(before.spans) == 0
    assert len(groups.result({"system": {}}, "complete", 1.0).spans) == 1


def test_a_full_disk_is_one_clear_error_and_leaves_the_old_files(
    tmp_path: Path, processes: warm.Processes
) -> None:
    """No file of more than 16 KiB: a run's tables do not fit, and its configuration does."""
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2**14, 2**14))\n{warm.COMMAND}"
    done = processes.start(code, [*SHORT, "--out", str(tmp_path / "a")], ROOT)
    assert done.wait() == 2
    errors = done.err.read_text()
    assert errors.splitlines()[-1].startswith(f"Error: {tmp_path / 'a'}")
    assert "cannot be written (" in errors
    assert "File too large" in errors
    assert "Make room on the disk" in errors
    assert "Traceback" not in errors
    assert not list((tmp_path / "a").glob(".*.partial"))
    with pytest.raises(SystemExit) as ended:
        main(["run", "--resume", str(tmp_path / "a"), "--quiet"])
    assert ended.value.code == 0
    with pytest.raises(SystemExit):
        main([*SHORT, "--out", str(tmp_path / "b")])
    assert tables(tmp_path / "a") == tables(tmp_path / "b")


SHORT = ["run", "quickstart", "--num-global-rounds", "20", "--evaluation.kind", "Never", "--quiet"]
LONG = ["run", "quickstart", "--num-cells", "2", "--num-clients", "4", "--num-global-rounds", "400"]


def started(processes: warm.Processes, out: Path, before: str = "") -> warm.Forked:
    """A real run of 400 short rounds, once a tenth of them are over."""
    process = processes.start(f"{before}\n{warm.COMMAND}", [*LONG, "--out", str(out)], ROOT)
    while "40 of 400 rounds" not in process.err.read_text():
        assert process.poll() is None, "the run ended too early"
        time.sleep(0.02)
    return process


def test_ctrl_c_ends_with_130_and_a_readable_folder(tmp_path: Path, processes: warm.Processes) -> None:
    process = started(processes, tmp_path / "a")
    os.kill(process.pid, signal.SIGINT)
    assert process.wait() == 130
    errors = process.err.read_text()
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    result = Result.load(tmp_path / "a")
    assert result.summary.status == "interrupted"
    assert 40 <= result.summary.num_global_rounds < 400
    assert (result.rounds["level"] == "global").sum() == result.summary.num_global_rounds
    assert {path.name for path in (tmp_path / "a").iterdir()} == {LOCK, *FILES}


def test_ctrl_c_in_the_callback_of_a_weak_reference_is_not_lost(request: pytest.FixtureRequest) -> None:
    """Python prints such an exception and goes on."""

    class Held:
        pass

    def listener(report: VersionReport) -> None:
        if report.version == 1:
            held = Held()
            weakref.finalize(held, signal.raise_signal, signal.SIGINT)
            del held
        time.sleep(0.02)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with pytest.raises(KeyboardInterrupt):
        run_of(evolve(TINY, end=AfterRounds(num_global_rounds=100)), listener=listener)


def test_killed_run_leaves_whole_files_only(tmp_path: Path, processes: warm.Processes) -> None:
    """Saving after every round, so that the kill most likely falls into a save."""
    always = (
        'import sys, cosim.engine.run.writer\nsys.modules["cosim.engine.run.writer"]._SAVE_EVERY_WALL_S = 0.0'
    )
    always += '\nsys.modules["cosim.engine.run.writer"]._SAVE_EVERY_SAVES = 0.0'
    process = started(processes, tmp_path / "a", before=always)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    for name in TABLES:
        rows = pd.read_parquet(tmp_path / "a" / f"{name}.parquet")
        assert len(rows) > 0 or name in ("plans", "tallies", "versions", "updates", "stations")
    result = Result.load(tmp_path / "a")
    assert result.summary.status == "running"
    assert 30 < result.summary.num_global_rounds < 400


def test_tables_are_saved_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("_SAVE_EVERY_WALL_S", "_SAVE_EVERY_SAVES"):
        monkeypatch.setattr(importlib.import_module("cosim.engine.run.writer"), pause, 0.0)
    heard = []

    def look(report: VersionReport) -> None:
        time.sleep(0.001)
        if report.version:
            heard.append(Result.load(tmp_path / "a").summary)

    run_of(TINY, out=tmp_path / "a", listener=look)
    assert [(summary.status, summary.num_global_rounds) for summary in heard] == [
        ("running", 1),
        ("running", 2),
        ("running", 3),
    ]
    assert Result.load(tmp_path / "a").summary.status == "complete"


# Repeating a run from its folder.


@pytest.mark.parametrize("protocol", [TINY.protocol, HFedAvg()], ids=["hist", "hfedavg"])
def test_config_json_repeats_the_run_exactly(
    protocol: Hist | HFedAvg, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = evolve(
        TINY,
        seed=11,
        cell_sizes=(2, 3),
        protocol=protocol,
        uplink=evolve(
            TINY.uplink,
            sharing=RedividedShares(bandwidth_hz=1e6 / 3),
            link=GivenSnr(snr_db=PerGroup(values=(1 / 3, 20.0))),
        ),
    )
    run_of(system, out=tmp_path / "a", scenario="hist")
    with pytest.raises(SystemExit) as ended:
        main(["run", "--config", str(tmp_path / "a" / "config.json"), "--out", str(tmp_path / "b")])
    assert ended.value.code == 0
    assert tables(tmp_path / "a") == tables(tmp_path / "b")
    assert (tmp_path / "a" / "config.json").read_bytes() == (tmp_path / "b" / "config.json").read_bytes()
    assert to_dict(system) == json.loads((tmp_path / "b" / "config.json").read_text())["system"]


class Noted(Exception):
    """Ends a run whose options are noted."""


def test_a_gpu_is_given_work_by_one_thread_where_no_number_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Learner` has the same default; several threads would only wait for each other."""
    found = []

    def noted(*given: object) -> None:
        found.extend(of.num_threads for of in given if isinstance(of, RunOptions))
        raise Noted

    monkeypatch.setattr("cosim.engine.run.run.prepare", noted)
    for how in ({"device": "cuda"}, {"device": "cuda", "num_workers": 2}, {}):
        with pytest.raises(Noted):
            run(TINY, **how)
    assert found == [1, 2, num_cores()]
