"""`cosim init`: the folder runs as it stands, and is written whole or not at all."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import notebooks
import pytest
import warm

from scenarios.command_line import main
from scenarios.command_line.init import TEMPLATE

MODULES = ("quickest", "scenario")
"""Modules of the folder, which later tests do not find loaded."""
STUDY = """
import functools, pathlib
from concurrent.futures import ThreadPoolExecutor
import scenario
from cosim.studies.study import Study
whole = scenario.system
scenario.system = lambda: whole().but(num_global_rounds=6)
Study.run = functools.partialmethod(Study.run, executor=ThreadPoolExecutor(1))
exec(pathlib.Path("study.py").read_text().replace("seeds=5", "seeds=2"))
"""
"""The study of the folder with two short seeds, in one process."""


def typed(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(str(ended.value.code))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that `cosim init` has made, in which the tests of this file are run."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("init"))
    assert typed("init", "my_study") == 0
    os.chdir("my_study")
    yield Path.cwd()
    os.chdir(before)
    for module in MODULES:
        sys.modules.pop(module, None)


def test_all_of_the_template_is_there_and_its_readme_names_it(folder: Path) -> None:
    here = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    assert here == {file.name: file.read_bytes() for file in TEMPLATE.iterdir() if file.is_file()}
    named = re.findall(r"^\| `([\w.]+)`", (folder / "README.md").read_text(), flags=re.MULTILINE)
    assert {*named, "README.md", ".gitignore"} == set(here)


@pytest.mark.usefixtures("unwritten_pictures")
def test_the_scenario_runs_and_its_file_runs_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ("run", "scenario.py", "--num-global-rounds", "2", "--out", "runs/a")
    again = ("run", "--config", "runs/a/config.json", "--import", "scenario", "--out", "runs/b")
    for words in (run, again):
        assert typed(*words, "--quiet") == 0, capsys.readouterr().err
    one, other = (json.loads((folder / "runs" / name / "summary.json").read_text()) for name in "ab")
    assert one["checksums"] == other["checksums"]


def test_its_tests_pass(folder: Path, processes: warm.Processes) -> None:
    code = "import pytest; raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider']))"
    tests = processes.start(code, (), folder)
    assert tests.wait() == 0, tests.out.read_text()
    assert "2 passed" in tests.out.read_text()


def test_its_study_says_what_it_found(folder: Path, processes: warm.Processes) -> None:
    study = processes.start(STUDY, (), folder)
    assert study.wait() == 0, study.err.read_text()
    lines = study.out.read_text().splitlines()
    assert sum("7 spare, time_s: " in line and "difference: -" in line for line in lines) == 1


def test_its_notebook_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert notebooks.is_without_outputs(TEMPLATE / "look.ipynb")
    monkeypatch.syspath_prepend(folder)
    kinds = [type(value).__name__ for value in notebooks.shown(folder / "look.ipynb")]
    assert kinds == ["System", "Result", "Figure", "DataFrame", "Figure"]


def test_what_it_prints_is_what_its_readme_says_to_type(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("init", "a study") == 0
    said = capsys.readouterr().out
    assert "  cd 'a study'\n  cosim run scenario.py " in said
    assert "  python study.py " in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("full",), "Error: full: exists already. Use another name."),
        (("file",), "Error: file: exists already. Use another name."),
        (
            ("file/x",),
            "Error: file/x: cannot be written (File exists). Use a folder of yours, then "
            "give the same command again.",
        ),
        ((".",), "Error: .: is the folder that you are in. Use the name of a new one."),
        (("x", "--quick"), "Error: no option --quick. See --help."),
    ],
)
def test_what_is_there_stays_as_it_is(words, message, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    assert typed("init", *words) == 2
    assert capsys.readouterr().err == f"{message}\n"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_failure_halfway_leaves_nothing(tmp_path, monkeypatch, capsys) -> None:
    def full(source: Path, target: Path) -> None:
        if source.name == "study.py":
            raise OSError(28, "No space left on device")
        shutil.copyfile(source, target)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scenarios.command_line.init.copyfile", full)
    assert typed("init", "my_study") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_help_teaches(capsys) -> None:
    assert typed("init", "--help") == 0
    assert "cosim init my_study" in capsys.readouterr().out
