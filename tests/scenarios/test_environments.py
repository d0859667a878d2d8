"""Environments as people have them: names of files that are no UTF-8, settings of others, odd terminals."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import matplotlib
import pandas as pd
import pytest

import analysis
import cosim
from analysis import plots
from analysis.report.report import report
from cosim.data import Synthetic
from cosim.files.on_disk import as_text, typed
from cosim.files.tables.read import table_of
from cosim.studies.study import Study
from scenarios.command_line import main
from scenarios.command_line.console import console, save_picture

SYSTEM = cosim.System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    end=cosim.AfterRounds(num_global_rounds=2),
)
LATIN = os.fsdecode(b"caf\xe9")
"""A name whose last byte is no UTF-8."""


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def latin(tmp_path, monkeypatch) -> Path:
    """A folder with a run, and a study whose designs and values are called alike, with one thread."""
    folder = tmp_path / LATIN
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(console, "width", 200)
    with ThreadPoolExecutor(1) as executor:
        monkeypatch.setattr("cosim.studies.study.pool", lambda given, workers: nullcontext(lambda: executor))
        cosim.run(SYSTEM, out=LATIN)
        systems = {LATIN: SYSTEM, "other": SYSTEM.but(num_clients=6)}
        Study(systems, {"protocol.kind": ("Hist", "HFedAvg")}, seeds=1).run("study")
    return folder


@pytest.mark.quick
@pytest.mark.usefixtures("unwritten_pictures", "latin")
def test_folders_and_designs_whose_names_are_no_utf8_are_shown(capsys):
    for words in ("table", LATIN), ("table", "study", LATIN), ("table", "study"), ("report", "study", LATIN):
        assert call(*words) == 0
    assert call("table", "study", "--reference", f"{LATIN}, Hist", "--format", "csv") == 0
    for command in "trace", "plot":
        assert call(command, LATIN) == 0
    said = capsys.readouterr()
    assert rf"Trace: caf\xe9{os.sep}trace.json" in said.out
    assert not said.err
    os.remove("study/runs.parquet")
    with pytest.warns(UserWarning, match="made again"):
        assert len(analysis.load("study")) == 4


def test_tables_in_such_a_folder_are_read(latin):
    frame = pd.DataFrame({"time_s": [0.0, 1.0]})
    for name in f"{LATIN}.csv", f"{LATIN}.csv.gz":
        frame.to_csv(name, index=False)
    with open(f"{LATIN}.parquet", "wb") as file:
        frame.to_parquet(file)
    for ending in "csv", "csv.gz", "parquet":
        assert table_of(latin / f"{LATIN}.{ending}").numbers("time_s").tolist() == [0.0, 1.0]


def test_a_name_is_told_as_text_and_typed_as_a_shell_takes_it():
    assert as_text(LATIN) == r"caf\xe9"
    assert as_text("café") == "café"
    assert as_text("\ud800") == r"\ud800"
    assert typed(Path("it's")) == """'it'"'"'s'"""
    assert typed(Path(f"it's {LATIN}")) == r"$'it\x27s caf\xe9'"


@pytest.mark.parametrize("name", [LATIN, "my study", "a.b"])
def test_a_file_whose_name_is_no_modules_is_refused(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path(f"{name}.py").touch()
    assert call("run", f"{name}.py:system") == 2
    assert "is no name of a module. Use letters, digits and _ in it" in capsys.readouterr().err


@pytest.fixture
def odd_settings(monkeypatch) -> Iterator[None]:
    """Settings of a user's own, of which some need programs that are not here."""
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.not_here")
    odd = {"text.usetex": True, "font.size": 30, "savefig.bbox": "tight", "savefig.dpi": 3}
    with matplotlib.rc_context(odd):
        yield
        assert all(matplotlib.rcParams[name] == value for name, value in odd.items())


def test_figures_and_reports_are_the_same_under_any_settings(odd_settings, tmp_path):
    result = cosim.run(SYSTEM)
    told = []
    for settings in matplotlib.rcParamsDefault, matplotlib.rcParams:
        with matplotlib.rc_context({name: settings[name] for name in ("text.usetex", "font.size")}):
            with plots.drawing():
                save_picture(plots.overview(result), tmp_path / "overview.png")
            told.append(((tmp_path / "overview.png").read_bytes(), report([result])))
    assert told[0] == told[1]


def test_a_command_draws_without_the_backend_of_a_notebook(odd_settings, capsys):
    assert call("--version") == 0
    assert os.environ["MPLBACKEND"] == "agg"
