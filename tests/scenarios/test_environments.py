"""Environments as people have them: names of files that are no UTF-8, settings of others, odd terminals."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from rich.table import Table

import analysis
import cosim
from analysis import plots
from analysis.report.report import report
from cosim.data import Synthetic
from cosim.files.on_disk import as_text, read_json, typed
from cosim.studies.study import Study
from cosim.tables.read import table_of
from scenarios.command_line import main
from scenarios.command_line.console import console, save_picture, width

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


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a run, and a study whose designs and values are called alike."""
    folder = tmp_path_factory.mktemp("made")
    with ThreadPoolExecutor(1) as executor:
        cosim.run(SYSTEM, out=folder / LATIN)
        systems = {LATIN: SYSTEM, "other": SYSTEM.but(num_clients=6)}
        study = Study(systems, {"protocol.kind": ("Hist", "HFedAvg")}, seeds=1)
        study.run(folder / "study", executor=executor)
    return folder


@pytest.fixture
def latin(made, tmp_path, monkeypatch) -> Path:
    """A copy of that folder, whose own name is no UTF-8, in which nothing is run again."""
    shutil.copytree(made, tmp_path / LATIN)
    monkeypatch.chdir(tmp_path / LATIN)
    monkeypatch.setenv("COLUMNS", "200")
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    monkeypatch.setattr("cosim.studies.study.pool", lambda given, workers: nullcontext(lambda: closed))
    return tmp_path / LATIN


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
    assert "is not the name of a module. Use letters, digits and _ in it" in capsys.readouterr().err


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


NUMBER = "0.06553 [0.06001, 0.07105]"


@pytest.mark.parametrize("columns", [20, 40, 60, 75])
def test_tables_are_folded_between_words_and_never_cut(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    drawn = Table(title="Means over seeds")
    for heading in ("quantity", "mean", "difference to another design, seed by seed"):
        drawn.add_column(heading, no_wrap=heading == "mean")
    drawn.add_row("simulated time (s)", NUMBER, NUMBER)
    console.print(drawn)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    words = " ".join(lines).replace("│", " ").split()
    assert words.count("0.06553") == 2
    assert words.count("[0.06001,") == 2
    assert "…" not in "".join(lines)


@pytest.mark.parametrize(
    ("columns", "letters"), [("0", 120), ("1", 20), ("40", 40), ("-5", 120), ("wide", 120)]
)
def test_a_file_is_as_wide_as_columns_says_where_it_says_anything(columns, letters, monkeypatch):
    def no_terminal(_file: int) -> os.terminal_size:
        raise OSError

    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    assert width() == letters


def test_seeds_that_no_table_can_hold_are_refused(tmp_path):
    with pytest.raises(cosim.ConfigurationError, match=r"System\.seed = 9223372036854775808: must be below"):
        SYSTEM.but(seed=2**63)
    with pytest.raises(cosim.ConfigurationError, match=r"Study\.seeds = 3: .* not below 2\*\*63\. Use"):
        Study(SYSTEM.but(seed=2**63 - 2), {}, seeds=3)


def with_a_seed_too_large(file: Path) -> None:
    """Give it a seed of which an earlier cosim has made the run."""
    file.write_text(re.sub(r'("seed": )\d+', rf"\g<1>{2**63}", file.read_text()))


def test_runs_and_studies_of_seeds_too_large_are_told_plainly(latin, capsys):
    with_a_seed_too_large(latin / LATIN / "config.json")
    with_a_seed_too_large(latin / "study" / "study.json")
    os.remove("study/runs.parquet")
    said = f"seed = {2**63}: must be a whole number up to 9.22337e+18. Use cosim run --config with a copy"
    for command in "table", "report", "plot", "trace":
        assert call(command, LATIN) == 2
        assert said in capsys.readouterr().err
    with (
        pytest.warns(UserWarning, match="made again"),
        pytest.raises(cosim.ConfigurationError, match=r"last seed is not below 2\*\*63.* Use another folder"),
    ):
        analysis.load("study")


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""The poorest locale, in which Python writes ASCII."""
ALL_COMMANDS = """
import os
from scenarios.command_line.commands import exit_code

run = ["quickstart", "--end.num-global-rounds", "1", "--evaluation.kind", "Never", "--workers", "1"]
folder, picture = (os.fsdecode(name.encode()) for name in ("caf\\u00e9/\\u00b5", "\\u00b5.svg"))
for words in (
    ["run", *run, "--out", folder],
    ["table", folder],
    ["report", folder],
    ["plot", folder, "--kind", "energy", "--out", picture],
):
    assert exit_code(words) == 0, words
"""


def test_commands_work_where_python_writes_ascii(tmp_path):
    environment = {name: of for name, of in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    done = subprocess.run(
        [sys.executable, "-c", ALL_COMMANDS],
        cwd=tmp_path,
        env=environment | ASCII,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert b"caf\\xe9" in done.stdout
    html = (tmp_path / "caf\u00e9" / "\u00b5" / "report.html").read_text(encoding="utf-8")
    assert "\u00b5" in html


def test_files_that_systems_and_editors_leave_are_no_runs(latin):
    for name in "study/runs/.DS_Store", "study/runs/Thumbs.db", "study/runs/design-000~":
        Path(name).touch()
    Path("study/runs/.ipynb_checkpoints").mkdir()
    Path("study/runs/.ipynb_checkpoints/config.json").touch()
    Path("study/study.json").unlink()
    systems = {LATIN: SYSTEM, "other": SYSTEM.but(num_clients=6)}
    Study(systems, {"protocol.kind": ("Hist", "HFedAvg")}, seeds=1).run("study")
    assert len(analysis.load("study")) == 4


def test_json_may_begin_with_a_byte_order_mark(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"system": {}}', encoding="utf-8-sig")
    assert read_json(file) == {"system": {}}


def test_the_package_is_the_command(capsys):
    command = subprocess.run([sys.executable, "-m", "cosim", "--version"], capture_output=True, text=True)
    assert command.stdout.startswith("cosim 0")
