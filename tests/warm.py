"""A warm process, from which others are forked: they have loaded what is ours and begin at once.

It starts no thread, draws no number and reads no file of ours, so that they share its imports and nothing
else. Who wants to see how a process begins, starts one of its own.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

IMPORTS = """
import matplotlib.backends.backend_agg, matplotlib.pyplot, networkx, sklearn.datasets, torch
import analysis.intervals.batch_means, analysis.plots, analysis.studies, cosim.engine.learning.learner
import cosim.engine.networks.named, cosim.training.programs.sgd, cosim.engine.run.run, cosim.studies.study
import cosim.testing, models, scenarios.quickstart
torch.func.vmap(torch.func.grad(torch.sum))(torch.ones(1, 1))  # imports as much again
"""

FORKS = """
import json, os, signal, sys

os.fsync = lambda file: None  # as in conftest
for line in sys.stdin:
    asked = json.loads(line)
    if "ended" in asked:
        ended, status = os.waitpid(asked["ended"], os.WNOHANG)
        print(json.dumps(os.waitstatus_to_exitcode(status) if ended else None), flush=True)
        continue
    child = os.fork()
    if child:
        print(child, flush=True)
        continue
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    os.setpgid(0, 0)
    for number, name in enumerate((os.devnull, asked["out"], asked["err"])):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    folder, *path = asked["path"]
    os.chdir(folder)
    sys.path += path
    os.environ["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], *path])
    sys.argv = ["-c", *asked["words"]]
    exec(asked["code"], {"__name__": "__main__"})
    sys.exit()
"""

SECOND = """
import os, signal, sys
from cosim.testing.player import serve

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    folder = line.rstrip()
    if not os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        serve(open(folder + "/asked", "rb"), open(folder + "/answered", "wb"))
        os._exit(0)
"""
"""Forks a second process for each program of whose contracts it reads a folder."""

COMMAND = "from scenarios.command_line import main\nmain()"


class Forked:
    """A process that was forked from the warm one, and leads a group of its own.

    Attributes:
        pid: Its number.
        out: A file that has what it has printed so far.
        err: One that has its errors.
    """

    def __init__(self, processes: "Processes", pid: int, out: Path, err: Path) -> None:
        self._processes, self.pid, self.out, self.err = processes, pid, out, err
        self._code: int | None = None

    def poll(self) -> int | None:
        """The exit code, or minus the number of the signal that has ended it; None while it goes on."""
        if self._code is None:
            self._code = self._processes.ask(ended=self.pid)
        return self._code

    def wait(self, most_s: float = 120.0) -> int:
        """The exit code, once it has ended."""
        end_s = time.monotonic() + most_s
        while (code := self.poll()) is None:
            assert time.monotonic() < end_s, self.err.read_text()
            time.sleep(0.005)
        return code


class Processes:
    """Processes, each with the imports of a warm one and no module of a user.

    Args:
        folder: Where they leave what they print.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, count()
        self._warm = subprocess.Popen(
            [sys.executable, "-c", IMPORTS + FORKS],
            env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, code: str, words: Sequence[object], folder: Path, *path: Path) -> Forked:
        """A program with words, as by python -c, in a folder and with these folders on its path besides."""
        number = next(self._numbers)
        out, err = (self._folder / f"{number}.{kind}" for kind in ("out", "err"))
        for file in (out, err):
            file.touch()  # who asks for it at once finds it
        pid = self.ask(
            code=code,
            words=list(map(str, words)),
            path=list(map(str, (folder, *path))),
            out=str(out),
            err=str(err),
        )
        return Forked(self, pid, out, err)

    def command(self, folder: Path, words: Sequence[str], *path: Path) -> tuple[int, str, str]:
        """Exit code, output and errors of a command of ours."""
        forked = self.start(COMMAND, words, folder, *path)
        return forked.wait(), forked.out.read_text(), forked.err.read_text()

    def ask(self, **words: object) -> Any:
        """What the warm process answers."""
        assert self._warm.stdin
        assert self._warm.stdout
        print(json.dumps(words), file=self._warm.stdin, flush=True)
        return json.loads(self._warm.stdout.readline())

    def close(self) -> None:
        """End the warm process."""
        self._warm.communicate()
