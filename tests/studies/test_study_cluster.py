"""A study on a dask.distributed cluster: a real scheduler, two worker processes, one of which is killed."""

import os
import re
import signal
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest
import warm

from cosim import AfterRounds, ConfigurationError, Digits, EdgeTraining, Hist, Sgd, System
from cosim.results.provenance import noted
from cosim.studies import watch
from cosim.studies.study import Study
from cosim.training.local_steps import SameSteps
from scenarios.command_line import executor
from scenarios.command_line.executor import pool

BASE = System(
    num_cells=2,
    num_clients=8,
    model="relu-64-16-10",
    data=Digits(),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=2, steps=SameSteps(num_local_steps=5), local=Sgd(batch_size=10)
        ),
    ),
    end=AfterRounds(num_global_rounds=12),
)
STUDY = Study(BASE, {"num_cells": (1, 2)}, 4)

OFTEN = """
import os, signal, time
from pathlib import Path
from cosim.engine.run import writer
from cosim.studies import watch

watch._EVERY_WALL_S = writer._SAVE_EVERY_WALL_S = writer._SAVE_EVERY_SAVES = 0.0
num_whole, until_s = 0, time.monotonic() + 600.0

def saved(run, status, save=writer.RunWriter.save):
    global num_whole
    result = save(run, status)
    num_whole += status == "complete"
    if {dies} and num_whole and status == "running" and result.summary.num_global_rounds == 5:
        Path({grave!r}).write_text(result.folder.name)
        os.kill(os.getpid(), signal.SIGKILL)
    while not {dies} and num_whole == 2 and not os.path.exists({grave!r}) and time.monotonic() < until_s:
        time.sleep(0.01)
    return result

if writer.RunWriter.save.__name__ != "saved":  # dask executes this twice
    writer.RunWriter.save = saved
"""
"""Lets a worker tell of its progress, and save its run, at every version. One is killed within its second
run; the other waits for that at the end of its own second.
"""

DASK = """
import runpy, sys
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def started(stack: ExitStack, processes: warm.Processes, folder: Path, *arguments: object) -> warm.Forked:
    """A process of dask's command line that knows this checkout; ended with the test."""
    process = processes.start(DASK, arguments, folder)
    stack.callback(process.wait)
    stack.callback(kill, process)
    return process


def kill(process: warm.Forked) -> None:
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)


def test_a_worker_is_killed_and_nothing_is_lost_or_doubled(tmp_path, monkeypatch, capsys, processes):
    """Its run goes on elsewhere, from its checkpoint. Progress within the runs is heard.

    The table is, to the last bit, that of processes of this machine.
    """
    from distributed import Client  # a fifth of a second, which other processes save

    told, shown = tmp_path / "scheduler.json", []
    show = nullcontext(lambda counted, words, within: shown.append(words))
    monkeypatch.setattr(watch, "progress_of", lambda name, quiet=False: show)
    monkeypatch.setattr(watch, "_EVERY_WALL_S", 0.05)
    grave = tmp_path / "grave"
    for number in range(2):
        (tmp_path / f"often{number}.py").write_text(OFTEN.format(dies=number == 0, grave=str(grave)))
    with ExitStack() as stack:
        local = ("--host", "127.0.0.1", "--no-dashboard")
        scheduler = started(
            stack,
            processes,
            tmp_path,
            "distributed.cli.dask_scheduler",
            *local,
            "--port",
            "0",
            "--scheduler-file",
            told,
        )
        while not told.exists():
            assert scheduler.poll() is None, scheduler.err.read_text()
            time.sleep(0.01)
        for number in range(2):
            started(
                stack,
                processes,
                tmp_path,
                *("distributed.cli.dask_worker", "--scheduler-file", told, *local),
                *(
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--preload",
                    str(tmp_path / f"often{number}.py"),
                    "--local-directory",
                    str(tmp_path / f"worker {number}"),
                ),
            )
        client = stack.enter_context(Client(scheduler_file=str(told)))
        client.wait_for_workers(2)
        with pool(f"dask={client.scheduler.address}", None) as (cluster, _):
            runs = STUDY.run(tmp_path / "cluster", executor=cluster, progress=True)
    resumed = [run.name for run in (tmp_path / "cluster/runs").iterdir() if "resumed" in noted(run)]
    assert resumed == [grave.read_text()]
    assert "cluster: 8 runs, about " in capsys.readouterr().err
    times_s = re.findall(r"[12] running \(simulated ([0-9.]+) s", "\n".join(shown))
    assert len(set(times_s)) > 1
    assert shown[-1] == "0 running, 0 failed"
    assert list(runs["status"]) == ["complete"] * 8, runs["error"].tolist()
    assert not runs.duplicated(["design", "seed"]).any()
    STUDY.run(tmp_path / "here", num_workers=2)
    assert (tmp_path / "cluster/runs.parquet").read_bytes() == (tmp_path / "here/runs.parquet").read_bytes()


def test_a_scheduler_that_does_not_answer_is_refused(monkeypatch):
    monkeypatch.setattr(executor, "_ANSWERS_WITHIN_WALL_S", 0.1)
    with pytest.raises(ConfigurationError, match=r"no scheduler answers there"):  # noqa: SIM117
        with pool("dask=tcp://127.0.0.1:9", None):
            pass
