"""`cosim study`: what is typed, what comes out, and what is refused."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pandas as pd
import pytest
from own_commands import exit_code

from analysis.intervals.statistics import Interval
from analysis.studies import load
from analysis.tables.cells import number_of
from cosim import HFedAvg, Result, evolve
from scenarios import quickstart
from scenarios.command_line.study import grid, systems

SMALL = ("--model", "relu-64-4-10", "--num-global-rounds", "2", "--num-clients", "8")


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    """A wide terminal, and a thread of this process in place of new processes, which other tests have."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(1) as executor:
        monkeypatch.setattr("cosim.studies.study.pool", lambda given, workers: nullcontext(lambda: executor))
        yield


def call(*arguments):
    """The exit code."""
    return exit_code("study", *arguments)


@pytest.mark.parametrize(
    ("over", "found"),
    [
        (("num_cells=2,4",), {"num_cells": [2, 4]}),
        (
            ("uplink.csi-error-db=5e6,1e7", "num-cells=2"),
            {"uplink.csi_error_db": [5e6, 1e7], "num_cells": [2]},
        ),
        (("data.split.kind=Iid,Shards",), {"data.split.kind": ["Iid", "Shards"]}),
        (("cell_sizes=none",), {"cell_sizes": [None]}),
        (("data.global_features=true,false",), {"data.global_features": [True, False]}),
        (("uplink.link.snr_db.values=[[10], [20, 30]]",), {"uplink.link.snr_db.values": [[10], [20, 30]]}),
    ],
)
def test_fields_and_values_as_typed(over, found):
    assert grid(over) == found


def test_a_study_prints_means_and_differences_and_leaves_a_folder(tmp_path, capsys):
    code = call(
        *("quickstart", "--over", "uplink.sharing.bandwidth-hz=1e6,2e6", "--seeds", "2", "--timing-only"),
        *("--workers", "1", *SMALL),
    )
    output, errors = capsys.readouterr()
    assert code == 0
    assert "quickstart: 4 runs, about " in errors
    assert "quickstart: 4 of 4 runs, 0 running, 0 failed" in errors
    runs = load(tmp_path / "studies" / "quickstart-1")
    assert isinstance(runs, pd.DataFrame)
    assert list(runs["uplink.sharing.bandwidth_hz"]) == [1e6, 1e6, 2e6, 2e6]
    assert "accuracy" not in runs
    table = pd.read_csv(tmp_path / "studies" / "quickstart-1" / "table.csv").set_index(["design", "metric"])
    time_s = runs.groupby("design")["time_s"].mean()
    for design in (0, 1):
        assert table.loc[(design, "time_s"), "value"] == pytest.approx(time_s[design], rel=1e-9)
        value, low, high = (table.loc[(design, "time_s"), column] for column in ("value", "low", "high"))
        shown = number_of(Interval(estimate=value, low=low, high=high, level=0.95), 1e3)
        assert f"{shown[0]} [" in output
    assert "simulated time (ms)" in output
    assert "bandwidth (MHz)" in output
    # The scenario's own bandwidth, 1 MHz, is the reference.
    assert "difference to 1 MHz, seed by seed" in output
    assert table.loc[(1, "time_s"), "difference"] == pytest.approx(time_s[1] - time_s[0], rel=1e-9)
    assert (tmp_path / "studies" / "quickstart-1" / "runs" / "design-001-seed-2" / "spans.parquet").exists()


@pytest.mark.parametrize(
    ("over", "design"),
    [
        (("--over", "num_cells=200,3,2"), "3 cells"),  # as the scenario has it, after one that fails
        (("--design", "A: num_cells=2", "--design", "B:", "--over", "bandwidth_hz=2e6,1e6"), "A, 1 MHz"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*made again:UserWarning")
@pytest.mark.usefixtures("unwritten_pictures")
def test_study_table_and_report_take_one_reference(over, design, tmp_path, capsys):
    """The one that tests/studies/test_reference.py holds by hand, and so when it is made again."""
    call("quickstart", *over, "--seeds", "2", "--timing-only", "--workers", "1", "--out", "s", *SMALL)
    assert f"difference to {design}, seed by seed" in capsys.readouterr().out
    assert pd.read_csv("s/table.csv").query("difference.isna()")["name"].unique().tolist() == [design]
    assert exit_code("report", "s") == 0
    assert f"Differences to {design} on the same seeds" in (tmp_path / "s" / "report.html").read_text()
    (tmp_path / "s" / "runs.parquet").unlink()
    assert exit_code("table", "s") == 0
    assert f"difference to {design}, seed by seed" in capsys.readouterr().out


def test_designs_as_typed():
    base = quickstart.system()
    found = systems(
        base, ("As it is:", "FedAvg: protocol.kind=HFedAvg; num-cells=3", "Split: split.per_client=3")
    )
    assert list(found) == ["As it is", "FedAvg", "Split"]
    assert found["As it is"] == base
    assert found["FedAvg"] == evolve(base, num_cells=3, protocol=HFedAvg(training=base.protocol.training))
    assert found["Split"].data.split.per_client == 3
    assert systems(base, ()) == {"base": base}


def test_named_designs_with_a_target_are_compared_crossed_with_a_grid(tmp_path, capsys):
    code = call(
        *("quickstart", "--design", "HIST:", "--design", "FedAvg: protocol.kind=HFedAvg", "--seeds", "2"),
        *("--over", "bandwidth_hz=1e6,4e6", "--target", "0.2,90%", "--out", "s", *SMALL),
    )
    output = capsys.readouterr().out
    assert code == 0
    runs = load(tmp_path / "s")
    assert list(runs["name"].unique()) == ["HIST, 1 MHz", "HIST, 4 MHz", "FedAvg, 1 MHz", "FedAvg, 4 MHz"]
    assert list(runs["base"].unique()) == ["HIST", "FedAvg"]
    assert "difference to HIST, 1 MHz, seed by seed" in output
    for number, row in runs.iterrows():
        reached = Result.load(tmp_path / "s" / row["folder"]).at_target(0.2)
        assert reached is None or reached.time_s == runs.loc[number, "time_to_0.2_s"]
    assert runs["time_to_0.2_s"].notna().any()
    assert runs["time_to_0.9_s"].isna().all()
    assert "0.9 reached 0 %" in output


def test_runs_keep_the_rows_that_are_asked_for(tmp_path, capsys):
    few = ("quickstart", "--over", "num_global_rounds=1,2", "--seeds", "1", "--timing-only", "--workers", "1")
    for kept in ("all", "rounds"):
        assert call(*few, "--records", kept, "--out", kept) == 0
        runs = [Result.load(run) for run in sorted((tmp_path / kept / "runs").iterdir())]
        assert [len(run.tallies) > 0 for run in runs] == [kept == "rounds"] * 2
        assert [len(run.fates) > 0 for run in runs] == [kept == "all"] * 2


def test_one_run_is_no_runs(capsys):
    one = ("quickstart", "--over", "num_cells=2", "--seeds", "1", "--timing-only", "--workers", "1", *SMALL)
    assert call(*one) == 0
    output, errors = capsys.readouterr()
    assert "quickstart: 1 run, about " in errors
    assert "(1 run, 0 failed)" in output


def test_a_failing_design_is_named_and_the_exit_code_says_so(capsys):
    code = call(
        "quickstart", "--over", "num_cells=2,200", "--seeds", "1", "--timing-only", "--workers", "1", *SMALL
    )
    output = capsys.readouterr().out
    assert code == 1
    assert "Failed: 200 cells, seed 1: System.num_cells = 200: is more than num_clients = " in output
    assert "(2 runs, 1 failed)" in output


PROTOCOLS = (
    "quickstart",
    "--over",
    "protocol.kind=HFedAvg,FedBuff,FedAsync",
    "--seeds",
    "2",
    "--workers",
    "1",
)


def test_protocols_with_rounds_and_without_are_told_the_end_that_they_share(tmp_path, capsys):
    """The words that are said are then enough, and nothing has been run before."""
    assert call(*PROTOCOLS, "--out", "s") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "FedBuff, FedAsync: they have no global rounds, which AfterRounds counts. Use an end" in error
    assert not (tmp_path / "s").exists()
    words = error.partition("such as ")[2].rstrip(".").split()
    assert words[-2:] == ["--protocol.training.waiting.kind", "WaitForAll"]
    words[words.index("3")] = "0.3"
    assert call(*PROTOCOLS, *words, "--out", "s") == 0
    runs = pd.read_parquet(tmp_path / "s" / "runs.parquet")
    assert (runs["time_s"] == 0.3).all()
    assert (runs["num_dropped"] == 0).all()
    assert (runs["accuracy"] > 0.3).all()
    output = capsys.readouterr().out
    assert "difference to HFedAvg, seed by seed" in output
    assert "every update was dropped" not in output


def test_a_design_that_drops_all_is_said_to(capsys):
    over = ("--over", "protocol.kind=Hist,HFedAvg", "--seeds", "1", "--timing-only", "--workers", "1")
    assert call("quickstart", *over, "--num-global-rounds", "2") == 0
    assert capsys.readouterr().out.count("HFedAvg: every update was dropped. Use a longer wait.") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--over", "uplink.sharing.bandwith_hz=1e6"), "no field 'bandwith_hz'. Did you mean bandwidth_hz?"),
        (("--over", "bandwith_hz=1e6"), "bandwith_hz: there is no such field. Did you mean bandwidth_hz?"),
        (("--over", "num_cells"), "--over num_cells: must be FIELD=VALUE,VALUE"),
        (("--over", "num_cells="), "must be FIELD=VALUE,VALUE"),
        (("--over", "num_cells=2", "--over", "num-cells=4"), "num_cells is given twice"),
        (("--over", "num_cells=0,200"), "System.num_cells = 0: must be at least 1"),
        (("--over", "model=relu-1,relu-64-10"), "System.model: no network 'relu-1'"),
        (("--seeds", "0"), "Study.seeds = 0: must be at least 1. Use the default, 5."),
        (("--precision", "time_s=2"), "--precision time_s=2: must be METRIC=SHARE"),
        (("--precision", "speed=2%"), "must be METRIC=SHARE, one of time_s"),
        (("--precision", "accuracy=1%", "--timing-only"), "must be METRIC=SHARE, one of time_s"),
        (("--precision", "test_mse=1%"), "bits_per_client, accuracy, loss_nats."),
        (("--target", "high"), "--target high: must be a number. Use --target 0.8, or 80%."),
        (("--target", "0.8", "--timing-only"), "with evaluation = Never nothing is learned"),
        (("--target", "80"), "Did you mean 0.8?"),
        (("--held", "2"), "--held 2: there is no target. Use --target 0.8."),
        (("--design", "num_cells=2"), '--design "num_cells=2": must be NAME: FIELD=VALUE'),
        (("--design", "A: num_cells"), '--design "A: num_cells": must be NAME: FIELD=VALUE'),
        (("--design", ": num_cells=2"), "must be NAME: FIELD=VALUE"),
        (("--design", "A:", "--design", "A: num_cells=2"), "is given twice"),
        (("--design", "A: num_cell=2"), '--design "A: num_cell=2": num_cell: there is no such field'),
        (("--design", "A: num_cells=200"), "System.num_cells = 200: is more than num_clients = 24"),
        (("--executor", "slurm"), "--executor slurm: must be processes, dask or dask=ADDRESS"),
    ],
)
def test_refused_in_one_message_and_nothing_written(arguments, message, tmp_path, capsys):
    assert call("quickstart", "--out", "s", *arguments) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error
    assert error.count("Error:") == 1
    assert not (tmp_path / "s").exists()
