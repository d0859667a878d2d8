"""`cosim study`: what is typed, what comes out, and what is refused."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pandas as pd
import pytest

from analysis.studies import load
from scenarios.command_line import main
from scenarios.command_line.console import console
from scenarios.command_line.study import grid

SMALL = ("--model", "relu-64-4-10", "--num-global-rounds", "2", "--num-clients", "8")


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    """A wide terminal, and a thread of this process in place of new processes, which other tests have."""
    monkeypatch.setattr(console, "width", 200)
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(1) as executor:
        monkeypatch.setattr("cosim.studies.study.pool", lambda given, workers: nullcontext(lambda: executor))
        yield


def call(*arguments):
    """The exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["study", *arguments])
    return ended.value.code


@pytest.mark.parametrize(
    ("over", "found"),
    [
        (("num_cells=2,4",), {"num_cells": [2, 4]}),
        (
            ("uplink.csi-error-db=5e6,1e7", "num-cells=2"),
            {"uplink.csi_error_db": [5e6, 1e7], "num_cells": [2]},
        ),
        (("data.split.kind=Iid,Shards",), {"data.split.kind": ["Iid", "Shards"]}),
        (("protocol.training.num_participants=none,2",), {"protocol.training.num_participants": [None, 2]}),
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
    assert "quickstart: 4 of 4 runs, 0 running, 0 failed" in errors
    runs = load(tmp_path / "studies" / "quickstart-1")
    assert isinstance(runs, pd.DataFrame)
    assert list(runs["uplink.sharing.bandwidth_hz"]) == [1e6, 1e6, 2e6, 2e6]
    assert "accuracy" not in runs
    table = pd.read_csv(tmp_path / "studies" / "quickstart-1" / "table.csv").set_index(["design", "metric"])
    time_s = runs.groupby("design")["time_s"].mean()
    for design in (0, 1):
        assert table.loc[(design, "time_s"), "mean"] == pytest.approx(time_s[design], rel=1e-9)
        assert f"{time_s[design]:.4g} [" in output
    # The scenario's own bandwidth, 1 MHz, is the reference.
    assert "difference to bandwidth_hz=1e+06" in output
    assert table.loc[(1, "time_s"), "difference"] == pytest.approx(time_s[1] - time_s[0], rel=1e-9)
    assert (tmp_path / "studies" / "quickstart-1" / "runs" / "design-001-seed-2" / "spans.parquet").exists()


def test_a_failing_design_is_named_and_the_exit_code_says_so(capsys):
    code = call(
        "quickstart", "--over", "num_cells=2,200", "--seeds", "1", "--timing-only", "--workers", "1", *SMALL
    )
    output = capsys.readouterr().out
    assert code == 1
    assert "Failed: num_cells=200, seed 1: System.num_cells = 200: must lie from 1 to 100." in output
    assert "(2 runs, 1 failed)" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--over", "uplink.sharing.bandwith_hz=1e6"), "no field 'bandwith_hz'. Did you mean bandwidth_hz?"),
        (("--over", "bandwith_hz=1e6"), "bandwith_hz: there is no such field. Did you mean bandwidth_hz?"),
        (("--over", "num_cells"), "--over num_cells: must be FIELD=VALUE,VALUE"),
        (("--over", "num_cells="), "must be FIELD=VALUE,VALUE"),
        (("--over", "num_cells=2", "--over", "num-cells=4"), "num_cells is given twice"),
        (("--over", "num_cells=0,200"), "System.num_cells = 0: must lie from 1 to 100"),
        (("--over", "model=relu-1,relu-64-10"), "System.model: no network 'relu-1'"),
        (("--seeds", "0"), "Study.seeds = 0: must be at least 1"),
        (("--precision", "time_s=2"), "--precision time_s=2: must be METRIC=SHARE"),
        (("--precision", "speed=2%"), "must be METRIC=SHARE, one of time_s"),
        (("--executor", "slurm"), "--executor slurm: must be processes, dask or dask=ADDRESS"),
    ],
)
def test_refused_in_one_message_and_nothing_written(arguments, message, tmp_path, capsys):
    assert call("quickstart", "--out", "s", *arguments) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error
    assert error.count("Error:") == 1
    assert not (tmp_path / "s").exists()
