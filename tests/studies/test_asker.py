"""Asker and worker: what both have in common, and folders of runs that come back from another disk."""

import pickle
import re
import sys
from concurrent.futures import Executor, Future
from pathlib import Path

import attrs
import pytest
import worlds
from here import Here

import cosim
from cosim import HFedAvg, evolve
from cosim.studies import order
from cosim.studies.asker import Asker
from cosim.studies.study import Study
from scenarios import trace

TIMED = worlds.alike(2, 2, evaluation=cosim.Never(), protocol=HFedAvg())
LEARNS = worlds.alike(2, 2)
MINE = "from torch import nn\n\n\ndef net():\n    return nn.Linear(12, 4)\n"


class Elsewhere(Executor):
    """A worker whose asker differs from the process that asks, in what is given."""

    def __init__(self, **other: object) -> None:
        self._other, self._here = other, Here()

    def submit(self, fn, /, run, packed):
        asked = pickle.loads(packed)
        asked = attrs.evolve(asked, asker=attrs.evolve(asked.asker, **self._other))
        return self._here.submit(fn, run, pickle.dumps(asked))


OTHER_DISK = Elsewhere(words="process 1 of another machine")


def files(folder: Path) -> dict[str, bytes]:
    """Tables and model of each run of a study."""
    kept = [
        *folder.glob("runs/*/*.parquet"),
        *folder.glob("runs/*/*.npz"),
        *folder.glob("runs/*/config.json"),
    ]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept}


def test_a_run_on_another_disk_comes_back_whole(tmp_path, monkeypatch):
    """And where it was to be, nothing is written before."""
    usual, there = order._outcome, []

    def outcome(asked):
        there.append(asked.folder)
        return usual(asked)

    monkeypatch.setattr(order, "_outcome", outcome)
    Study(LEARNS, seeds=2).run(tmp_path / "far", executor=OTHER_DISK)
    assert not any(Path(folder).is_relative_to(tmp_path) or Path(folder).exists() for folder in there)
    Study(LEARNS, seeds=2).run(tmp_path / "near", executor=Here())
    assert files(tmp_path / "far") == files(tmp_path / "near")
    assert len(files(tmp_path / "far")) > 10
    tables = [(tmp_path / name / "runs.parquet").read_bytes() for name in ("far", "near")]
    assert tables[0] == tables[1]
    assert Study(LEARNS, seeds=2).run(tmp_path / "far", executor=None)["status"].eq("complete").all()


def test_it_takes_the_place_of_a_run_that_was_stopped(tmp_path):
    Study(LEARNS, seeds=1).run(tmp_path / "s", executor=Here())
    before = files(tmp_path / "s")
    (tmp_path / "s/runs/design-000-seed-1/summary.json").unlink()
    (tmp_path / "s/runs/design-000-seed-1/spans.parquet").unlink()
    Study(LEARNS, seeds=1).run(tmp_path / "s", executor=OTHER_DISK)
    assert files(tmp_path / "s") == before


def test_a_run_that_fails_on_another_disk_is_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(order, "_result_of", lambda *_: 1 / 0)
    (row,) = Study(TIMED, seeds=1).run(tmp_path / "s", executor=OTHER_DISK).itertuples()
    assert (row.status, row.error) == ("failed", "ZeroDivisionError: division by zero")
    assert not list((tmp_path / "s" / "runs").iterdir())


def test_a_run_that_the_executor_gives_up_says_so(tmp_path):
    class Ended(Executor):
        """A cluster whose scheduler has ended."""

        def submit(self, fn, /, *given):
            future: Future[object] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    (row,) = Study(TIMED, seeds=1).run(tmp_path / "s", executor=Ended()).itertuples()
    assert row.status == "failed"
    assert re.search(
        "executor gave it up, as when a cluster's scheduler ends. Use the same command", row.error
    )
    assert list(Study(TIMED, seeds=1).run(tmp_path / "s", executor=Here())["status"]) == ["complete"]


def test_a_worker_with_other_code_of_cosim_runs_nothing(tmp_path):
    other = cosim.results.versions.Version("0f" * 32, "cosim 9 (code 0f0f0f0f)")
    (row,) = Study(TIMED, seeds=1).run(tmp_path / "s", executor=Elsewhere(version=other)).itertuples()
    assert row.status == "failed"
    assert re.search(
        r"^ConfigurationError: worker on \S+: has other code of cosim \(cosim .*\) than the process that "
        r"asks for runs \(cosim 9 \(code 0f0f0f0f\)\)\. Use the same on both",
        row.error,
    )
    assert not list((tmp_path / "s" / "runs").iterdir())


def test_a_worker_with_another_module_of_the_user_runs_nothing(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("mine")
    study = Study(evolve(LEARNS, model="mine:net"), seeds=1)
    sources = {"mine": {"of": ["net"], "sha256": "ab" * 32}}
    (row,) = study.run(tmp_path / "s", executor=Elsewhere(sources=sources)).itertuples()
    file = re.escape(str(tmp_path / "mine.py"))
    assert re.search(
        rf"worker on \S+: its module mine \(of which it takes net\) is {file}, which differs from the file "
        r"of the process that asks for runs \(sha256 \w{12} here, abababababab there\)\. Use the same file",
        row.error,
    )
    assert list(study.run(tmp_path / "s", executor=Here())["status"]) == ["complete"]
    del sys.modules["mine"]


def test_a_worker_without_a_module_of_the_user_says_so(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("mine")
    study = Study(evolve(LEARNS, model="mine:net"), seeds=1)

    class Without(Executor):
        def submit(self, fn, /, *given):
            with monkeypatch.context() as there:
                there.setattr(sys, "path", [folder for folder in sys.path if folder != str(tmp_path)])
                there.delitem(sys.modules, "mine")
                return Here().submit(fn, *given)

    (row,) = study.run(tmp_path / "s", executor=Without()).itertuples()
    message = (
        r"worker on \S+: cannot read its run \(ModuleNotFoundError: No module named 'mine'\)\. Use .*PATH"
    )
    assert re.search(message, row.error)
    del sys.modules["mine"]


def test_a_worker_without_a_file_that_a_field_names_says_so(tmp_path, monkeypatch):
    """A relative path begins where the worker was started."""
    monkeypatch.chdir(tmp_path)
    Path("walk.csv").write_bytes((Path(trace.__file__).parent / "walk.csv").read_bytes())
    Path("elsewhere").mkdir()
    system = trace.system()
    walk = evolve(system.uplink.trace, file="walk.csv")
    system = evolve(system, uplink=evolve(system.uplink, trace=walk), evaluation=cosim.Never())

    class There(Executor):
        def submit(self, fn, /, *given):
            with monkeypatch.context() as there:
                there.chdir("elsewhere")
                return Here().submit(fn, *given)

    (row,) = Study(system, seeds=1).run("s", executor=There()).itertuples()
    message = (
        r"^ConfigurationError: worker on \S+: .*there is no file 'walk\.csv'\. Use its path from this folder"
    )
    assert re.search(message, row.error)


def test_other_packages_are_told_of(tmp_path):
    packages = {"torch": "1.0", "numpy": None}
    with pytest.warns(
        UserWarning, match=r"worker on \S+: has torch \S+ in place of 1\.0, numpy \S+ in place of "
    ):
        Study(TIMED, seeds=1).run(tmp_path / "s", executor=Elsewhere(packages=packages))


def test_another_kind_of_processor_is_told_of_where_it_learns(tmp_path, recwarn):
    """Of times it changes nothing."""
    other = Elsewhere(processor="Abacus 9")
    Study(TIMED, seeds=1).run(tmp_path / "timed", executor=other)
    assert not recwarn
    with pytest.warns(
        UserWarning, match=r"worker on \S+: has the processor .+ in place of Abacus 9, so last digits"
    ):
        Study(LEARNS, seeds=1).run(tmp_path / "learns", executor=other)


def test_a_folder_at_the_same_path_of_another_disk_is_not_the_askers(tmp_path):
    """With the words of another process in its lock."""
    asker = Asker.of(tmp_path, {})
    for words in ("process 1 of there", "process 2 of here"):
        (tmp_path / ".lock").write_text(words)
        assert not asker.is_seen()
        assert Asker.of(tmp_path, {}).is_seen()
