"""Ctrl-C and SIGTERM: what runs ends at once, says how it goes on, leaves no process and no traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import warm

from cosim import Result

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
{before}
from scenarios.command_line import main
main()
"""
STUDY = ("study", "quickstart", "--over", "num_global_rounds=1,5000", "--seeds", "2", "--workers", "2")
INTERRUPTED_IN = """
class Interrupts:
    def find_spec(name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts)
"""


def launched(*words: str, before: str) -> "subprocess.Popen[str]":
    """A command in a process that has loaded nothing yet."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCH.format(before=before), *words],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(is_so) -> None:
    end_s = time.monotonic() + 600.0
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("number", "to"),
    [
        (signal.SIGINT, "the process group"),
        (signal.SIGTERM, "the process group"),
        (signal.SIGTERM, "the parent alone"),
    ],
)
def test_a_signal_ends_a_study_now_and_keeps_what_was_finished(number, to, tmp_path, processes):
    """Two runs are long; runs that were whole before are whole after it, and complete."""
    out = tmp_path / "a study"
    process = processes.start(warm.COMMAND, [*STUDY, "--out", out], tmp_path)
    runs, index = out / "runs", out / "index.jsonl"
    try:
        until(lambda: len(list(runs.glob("design-001-*"))) == 2)
        until(lambda: index.exists() and index.read_text().count('"complete"') == 2)  # later: it is told
        (os.killpg if to == "the process group" else os.kill)(process.pid, number)
        assert process.wait() == 128 + number
        until(lambda: is_gone(process.pid))
    finally:
        if not is_gone(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    said = process.err.read_text()
    assert "Traceback" not in said
    assert "Exception" not in said
    options = "--over num_global_rounds=1,5000 --seeds 2 --workers 2"
    assert f"To resume: cosim study quickstart {options} --out '{out}'\nInterrupted." in said
    assert list(pd.read_parquet(out / "runs.parquet")["status"]) == ["complete"] * 2 + ["waiting"] * 2
    assert not list(out.glob(".*.partial"))


@pytest.mark.parametrize("module", ["cattrs", "cosim.configuration.json_form", "torch", "pandas"])
def test_ctrl_c_while_modules_are_loaded_is_quiet(module, tmp_path):
    process = launched(*STUDY, "--out", str(tmp_path / "s"), before=INTERRUPTED_IN.format(module=module))
    output, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert said == "Interrupted. A run folder keeps what was finished.\n"
    assert output == ""
    assert not (tmp_path / "s").exists()


SLOW = """
import math
from cosim.files import interrupts
interrupts._SAME_WITHIN_WALL_S = math.inf
"""
"""A second SIGTERM is the first once more however late the machine lets it come."""

HELD = """
import builtins, time
from cosim.engine.store import row_groups
def save(*what):
    builtins.print("saving", flush=True)
    time.sleep(600.0)
def heard(number, frame, kill=interrupts._kill):
    kill(number, frame)
    builtins.print("heard", flush=True)
row_groups.RowGroups.result, interrupts._kill = save, heard
"""


def test_a_second_ctrl_c_kills_at_once(tmp_path, processes):
    """Whatever the first is busy with: here the saving of the run takes ten minutes."""
    run = ("run", "quickstart", "--num-global-rounds", "5000", "--out", tmp_path / "a")
    process = processes.start(SLOW + HELD + warm.COMMAND, run, tmp_path)
    try:
        until(lambda: " of 5000 rounds" in process.err.read_text())
        os.kill(process.pid, signal.SIGINT)
        until(lambda: process.out.read_text() == "saving\n")
        os.kill(process.pid, signal.SIGTERM)  # a second of these is no haste: `timeout` sends two
        until(lambda: process.out.read_text() == "saving\nheard\n")
        assert process.poll() is None
        os.kill(process.pid, signal.SIGINT)
        assert process.wait() == -signal.SIGINT
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)


def test_sigterm_ends_a_run_with_what_was_finished_and_says_how_it_goes_on(tmp_path, processes):
    out = tmp_path / "a"
    process = processes.start(
        SLOW + warm.COMMAND, ["run", "quickstart", "--num-global-rounds", "5000", "--out", out], ROOT
    )
    until(lambda: " of 5000 rounds" in process.err.read_text())  # the folder is older than the first save
    os.kill(process.pid, signal.SIGTERM)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM
    said = process.err.read_text()
    assert "Traceback" not in said
    assert f"To resume: cosim run quickstart --resume {out}\nInterrupted." in said
    assert Result.load(out).summary.status == "interrupted"
