"""Studies and versions of cosim: no mean is taken over runs of different code without a word."""

import json
import re
import shutil
from importlib.metadata import version

import pytest
import worlds
from here import Here

import cosim
from cosim import ConfigurationError, HFedAvg
from cosim.results import provenance
from cosim.results.versions import Version, versions_of
from cosim.studies.study import Study
from scenarios.command_line.commands import exit_code

TIMED = worlds.alike(2, 2, evaluation=cosim.Never(), protocol=HFedAvg())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Study of two runs, by other code of cosim than runs this test."""
    with monkeypatch.context() as then:
        then.setattr(provenance, "_code", lambda: "0f" * 32)
        Study(TIMED, seeds=2).run(tmp_path / "s", executor=Here())
    return tmp_path / "s"


def mixed(folder):
    """The study with a run of this code beside one of the other, as they come together by copying."""
    own = folder.parent / "own"
    Study(TIMED, seeds=2).run(own, executor=Here())
    run = "runs/design-000-seed-1"
    shutil.rmtree(folder / run)
    shutil.copytree(own / run, folder / run)
    return folder


def test_a_study_gets_no_runs_of_other_code_than_its_own(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    message = (
        f"{folder}: 2 of its 2 runs are of other code of cosim (2 of cosim {version('cosim')} (code 0f0f0f0f"
    )
    with pytest.raises(ConfigurationError, match=re.escape(message)) as refused:
        Study(TIMED, seeds=3).run(folder, executor=Here())
    assert f"and this is {Version.here().words}. Use a new --out, or remove {folder / 'runs'}" in str(
        refused.value
    )
    assert {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()} == before


def test_a_run_that_several_versions_have_resumed_is_one_run(folder):
    for path in folder.glob("runs/*-seed-1/provenance.json"):
        first = json.loads(path.read_text())
        resumed = [first | {"code": "1f" * 32}, first | {"code": provenance._code()}]
        path.write_text(json.dumps(first | {"resumed": resumed}))
    with pytest.raises(ConfigurationError) as refused:
        Study(TIMED, seeds=3).run(folder, executor=Here())
    said, _, here = str(refused.value).partition(", and this is ")
    assert re.findall(r"(\d) of (?:its (\d)|.*?code (\w+))", said) == [
        ("2", "2", ""),
        ("2", "", "0f0f0f0f"),
        ("1", "", "1f1f1f1f"),
    ]
    assert provenance._code()[:8] in here


def test_the_fix_helps(folder):
    shutil.rmtree(folder / "runs")
    runs = Study(TIMED, seeds=3).run(folder, executor=Here())
    assert list(runs["status"]) == ["complete"] * 3
    assert versions_of(folder.glob("runs/*")) == {Version.here(): 3}


def test_a_complete_study_of_other_code_is_shown_unchanged(folder):
    runs = Study(TIMED, seeds=2).run(folder, executor=Here())
    assert list(runs["status"]) == ["complete"] * 2


def test_runs_that_have_left_nothing_start_again_with_the_code_at_hand(folder):
    for summary in folder.glob("runs/*/summary.json"):
        summary.unlink()
    Study(TIMED, seeds=3).run(folder, executor=Here())
    assert versions_of(folder.glob("runs/*")) == {Version.here(): 3}


def test_a_checkpoint_of_other_code_is_not_resumed_by_a_study(tmp_path, monkeypatch):
    system = worlds.alike(2, 2)
    with monkeypatch.context() as then:
        then.setattr(provenance, "_code", lambda: "0f" * 32)
        Study(system, seeds=1).run(tmp_path / "s", executor=Here())
    (run,) = (tmp_path / "s" / "runs").iterdir()
    (run / "summary.json").unlink()
    assert (run / "checkpoint.npz").exists()
    with pytest.raises(ConfigurationError, match="1 of its 1 run"):
        Study(system, seeds=1).run(tmp_path / "s", executor=Here())


def test_a_commit_or_a_number_alone_is_no_other_version(folder, monkeypatch):
    code = provenance._code()
    for path in folder.glob("runs/*/provenance.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"code": code, "commit": "1" * 40}))
    assert len(Study(TIMED, seeds=3).run(folder, executor=Here())) == 3


@pytest.mark.parametrize("content", [b"{}", b"[1]", b'{"code": 1, "versions": {"cosim": "0"}}', b"{"])
def test_a_run_that_does_not_say_its_code_is_not_judged(content, folder):
    for path in folder.glob("runs/*/provenance.json"):
        path.write_bytes(content)
    assert versions_of(folder.glob("runs/*")) == {}
    assert len(Study(TIMED, seeds=3).run(folder, executor=Here())) == 3


def test_pages_tables_and_pictures_tell_of_runs_of_different_code(folder, capsys):
    folder = mixed(folder)
    words = "The runs are of different code of cosim: "
    runs = [str(folder / "runs" / f"design-000-seed-{seed}") for seed in (1, 2)]
    for paths in ([str(folder)], runs, [str(folder), runs[0]]):
        assert exit_code(["table", *paths]) == 0
        assert capsys.readouterr().err.count(words) == 1, paths
    assert exit_code(["plot", str(folder), "--kind", "energy", "--out", str(folder / "a.png")]) == 0
    assert words in capsys.readouterr().err
    assert exit_code(["report", str(folder)]) == 0
    html = (folder / "report.html").read_text()
    assert words in html
    provenances = html[html.index('<section id="provenance"') :]
    assert all(f"<td>{code[:8]}</td>" in provenances for code in ("0f" * 32, provenance._code()))


def test_a_study_and_single_runs_of_different_code_are_told_of_once(folder, capsys, tmp_path):
    mixed(folder)
    single = [
        shutil.copytree(folder / f"runs/design-000-seed-{seed}", tmp_path / str(seed)) for seed in (1, 2)
    ]
    assert exit_code(["table", str(folder), *map(str, single)]) == 0
    said = capsys.readouterr().err
    assert said.count("different code") == 1
    assert re.findall(r"(\d) of cosim .*?code (\w+)", said) == [
        ("2", provenance._code()[:8]),
        ("2", "0f0f0f0f"),
    ]


def test_runs_of_one_code_have_no_remark(folder, capsys):
    assert exit_code(["table", str(folder)]) == 0
    assert "code of cosim" not in capsys.readouterr().err
