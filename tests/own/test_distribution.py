"""A stranger's distribution is as good as ours: every part of it, on every way, as itself.

`distribution/lakeside` has one part for each port and a system of them. Nothing of ours knows it; this file
puts it on the path, as its installation would. Commands run in new processes, and what they write is
compared, table by table, with a run in Python.
"""

import json
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest
import warm
from equal import same
from fixtures.fixes import FIX

import cosim
from cosim import AfterRounds
from cosim.engine.store.checkpoint import Checkpoint
from cosim.testing import (
    check_data,
    check_link,
    check_local_training,
    check_protocol,
    check_selection,
    small_system,
)

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTION = ROOT / "tests/own/distribution"
sys.path.append(str(DISTRIBUTION))

import lakeside  # noqa: E402

KINDS = {
    "protocol": "lakeside.cyclic:Cyclic",
    "protocol.training.selection": "lakeside.turns:Turns",
    "protocol.training.local": "lakeside.momentum:KeptMomentum",
    "uplink": "lakeside.relay:Relay",
    "uplink.handling": "lakeside.service:Gamma",
    "data": "lakeside.bars:Bars",
}
"""Field -> what files call its part."""
OVER = ("--over", "rate_bps=5e4,1e5", "--seeds", "1")
KILLED = """
import os, signal
from cosim.engine.store.checkpoint import Checkpoint
save = Checkpoint.save
def save_and_die(checkpoint, folder):
    save(checkpoint, folder)
    if checkpoint.version == 2:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoint.save = save_and_die
"""
"""Ends a run at once and without a word, when it has saved its second version."""


@pytest.fixture(scope="module")
def command(processes: warm.Processes) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of a command in a new process that has the distribution on its path."""

    def ended(folder: Path, *words: str) -> tuple[int, str, str]:
        code, output, errors = processes.command(folder, words, DISTRIBUTION)
        return code, output, " ".join(errors.split())

    return ended


@pytest.fixture(scope="module")
def usual() -> cosim.Result:
    """The system, run in Python."""
    return cosim.run(lakeside.system())


@pytest.fixture(scope="module")
def at_both_rates() -> list[cosim.Result]:
    """The designs of the studies, run in Python."""
    base = lakeside.system()
    return [
        cosim.run(attrs.evolve(base, uplink=attrs.evolve(base.uplink, rate_bps=rate_bps)))
        for rate_bps in (5e4, 1e5)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, command: Callable[..., tuple[int, str, str]]) -> Path:
    """A folder with a run, `a`."""
    parent = tmp_path_factory.mktemp("lake")
    code, output, errors = command(parent, "run", "lakeside:system", "--out", "a", "--quiet")
    assert code == 0, errors
    assert "by the lake: " in output
    return parent


# --- Contracts ----------------------------------------------------------------------------------------------

SMALL = small_system()
CONTRACTS: dict[str, tuple[Callable[..., None], Sequence[object]]] = {
    "protocol": (check_protocol, [lakeside.Cyclic(training=SMALL.protocol.training)]),
    "selection": (check_selection, [lakeside.Turns(num_participants=2)]),
    "uplink": (check_link, [lakeside.Relay()]),
    "service law": (check_link, [cosim.QueuedLink(service=lakeside.Gamma())]),
    "local training": (check_local_training, [lakeside.KeptMomentum(batch_size=4)]),
    "data and network": (check_data, [lakeside.Bars(), lakeside.system()]),
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_its_parts_keep_the_laws(name):
    check, given = CONTRACTS[name]
    check(*given)


# --- Commands -----------------------------------------------------------------------------------------------


def test_a_run_of_the_command_is_that_of_python(folder, usual):
    assert same(cosim.Result.load(folder / "a"), usual)


def test_files_name_every_part(folder):
    written = json.loads((folder / "a/config.json").read_text())
    assert written["scenario"] == "lakeside:system"
    assert written["system"]["model"] == "lakeside:network"
    for path, kind in KINDS.items():
        found = written["system"]
        for name in path.split("."):
            found = found[name]
        assert found["kind"] == kind


def test_show_teaches_its_fields(folder, command):
    code, output, errors = command(folder, "show", "lakeside:system", "--momentum", "0.25")
    assert code == 0, errors
    values = dict(re.findall(r"^ ([a-z][\w.]*)  +(\S+)", output, re.MULTILINE))
    assert {path: values[path] for path in KINDS} == KINDS
    assert values["protocol.training.local.momentum"] == "0.25"
    assert values["uplink.handling.duration_s"] == "0.02"
    assert "data.noise" in values


@pytest.mark.parametrize(("executor", "workers"), [("processes", "2"), ("dask", "1")])
def test_a_study_runs_it_in_other_processes_and_a_report_shows_it(
    executor, workers, folder, command, at_both_rates
):
    words = ("--executor", executor, "--workers", workers, "--out", executor)
    code, _, errors = command(folder, "study", "lakeside:system", *OVER, *words)
    assert code == 0, errors
    for number, expected in enumerate(at_both_rates):
        there = cosim.Result.load(folder / executor / f"runs/design-{number:03d}-seed-1")
        assert same(there, expected)
    if executor == "processes":
        code, _, errors = command(folder, "report", "processes", "a", "--out", "report.html")
        assert code == 0, errors
        page = (folder / "report.html").read_text()
        assert all(kind in page for kind in KINDS.values())


def test_killed_and_resumed_it_ends_as_an_uninterrupted_run(folder, command, processes):
    """With the state of the clients in the checkpoint; without its module it says what is missing."""
    words = ("run", "lakeside:system", "--num-global-rounds", "4", "--checkpoint-every", "1", "--out", "k")
    killed = processes.start(KILLED + warm.COMMAND, words, folder, DISTRIBUTION)
    assert killed.wait() == -signal.SIGKILL
    kept = Checkpoint.load(folder / "k")
    assert kept is not None
    assert kept.version == 2
    code, _, errors = command(folder, "run", "--resume", "k", "--import", "lakeside", "--quiet")
    assert code == 0, errors
    base = lakeside.system()
    whole = attrs.evolve(base, end=AfterRounds(num_global_rounds=4))
    assert same(cosim.Result.load(folder / "k"), cosim.run(whole))


def test_a_file_is_read_with_its_module_and_refused_without(folder, usual, command):
    words = ("run", "--config", "a/config.json", "--quiet")
    code, _, errors = command(folder, *words, "--out", "b")
    assert code == 2
    assert len(re.findall(FIX, errors)) == 1
    assert "the module lakeside" in errors
    assert "is not loaded" in errors
    assert "--import lakeside" in errors
    assert not (folder / "b").exists()
    code, output, errors = command(folder, *words, "--import", "lakeside", "--out", "b")
    assert code == 0, errors
    assert "by the lake: " in output
    assert same(cosim.Result.load(folder / "b"), usual)
