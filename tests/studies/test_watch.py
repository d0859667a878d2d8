"""Progress within the runs of a study, from other processes, and nothing left behind."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from cosim import AfterRounds, EdgeTraining, Hist, System
from cosim.data import Synthetic
from cosim.ends.port import Counted, Progress
from cosim.engine.servers.cloud import VersionReport
from cosim.studies import watch
from cosim.studies.study import Study
from cosim.studies.watch import Note, Watch
from cosim.training.local_steps import SameSteps

SYSTEM = System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    protocol=Hist(training=EdgeTraining(num_edge_rounds=1, steps=SameSteps(num_local_steps=1))),
    end=AfterRounds(num_global_rounds=8),
)


def told(number: int) -> VersionReport:
    return VersionReport(Progress(number, number, 0, 0.5 * number), None, None, {})


def test_what_runs_leave_is_shown(tmp_path):
    shown = []
    found = Watch(tmp_path, lambda counted, words, within=0.0: shown.append((counted, words, within)))
    found.look()
    assert shown == []
    for name, number in (("a", 2), ("b", 4)):
        Note(SYSTEM, tmp_path / name)(told(number))
    (tmp_path / "c").write_text("[0.5, ")
    found.tell(3, 9, 1)
    assert shown == [(Counted(3, 9, "runs"), "2 running (simulated 1 s, 2 s), 1 failed", 0.75)]
    found.tell(9, 9, 1)
    assert shown[-1] == (Counted(9, 9, "runs"), "0 running, 1 failed", 0.0)


def test_a_note_is_left_now_and_then_and_taken_away(tmp_path, monkeypatch):
    now = [10.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    note = Note(SYSTEM, tmp_path / "a")
    note(told(1))
    note(told(2))
    assert json.loads((tmp_path / "a").read_text()) == [1 / 8, 0.5]
    now[0] += 0.5
    note(told(3))
    assert json.loads((tmp_path / "a").read_text()) == [3 / 8, 1.5]
    note.over()
    note.over()
    assert not (tmp_path / "a").exists()
    Note(SYSTEM, tmp_path / "no folder" / "a")(told(1))  # it is not seen, and nothing breaks


@pytest.mark.parametrize("progress", [True, "mine", False])
def test_a_study_says_what_it_will_cost_and_how_far_it_is(progress, tmp_path, capsys):
    study = Study(SYSTEM, {"num_cells": (1, 2)}, 1)
    with ThreadPoolExecutor(1) as executor:
        study.run(tmp_path / "s", executor=executor, num_workers=1, progress=progress)
    errors = capsys.readouterr().err.splitlines()
    assert not (tmp_path / "s" / ".progress").exists()
    if not progress:
        assert errors == []
        return
    name = "mine" if progress == "mine" else "s"
    assert errors[0].startswith(f"{name}: 2 runs, about ")
    assert errors[0].endswith(" on 1 core")
    assert errors[-1].startswith(f"{name}: 2 of 2 runs, 0 running, 0 failed, ")
    study.run(tmp_path / "s", num_workers=1, progress=progress)
    again = capsys.readouterr().err.splitlines()
    assert len(again) == 1
    assert again[0].startswith(f"{name}: 2 of 2 runs, ")
