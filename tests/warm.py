"""Warm processes: code to begin with, for a process from which others are forked that play something.

They share its imports and nothing else: it starts no thread, draws no number and reads no file of ours.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

IMPORTS = """
import matplotlib.backends.backend_agg, matplotlib.pyplot, networkx, sklearn.datasets, torch
import analysis.intervals.batch_means, analysis.plots, analysis.studies, cosim.learning.learner
import cosim.learning.network.named, cosim.learning.programs.sgd, cosim.running, cosim.studies.study
import cosim.testing, models, scenarios.quickstart
torch.func.vmap(torch.func.grad(torch.sum))(torch.ones(1, 1))  # imports as much again
"""

COMMANDS = """
import json, os, sys
from scenarios.command_line import main

for line in sys.stdin:
    folder, path, words = json.loads(line)
    child = os.fork()
    if not child:
        for number, name in enumerate((os.devnull, f"{folder}/out", f"{folder}/err")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(path[0])
        sys.path += path[1:]
        os.environ["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], *path[1:]])
        sys.exit(main(words))
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class Commands:
    """Commands, each in a process of its own, which has loaded what is ours and no module of a user.

    Args:
        folder: Where they leave what they print.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", IMPORTS + COMMANDS],
            env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, folder: Path, words: Sequence[str], *path: Path) -> tuple[int, str, str]:
        """Exit code, output and errors of a command in a folder, with these folders on its path besides."""
        assert self._process.stdin
        assert self._process.stdout
        asked = [str(self._folder), [str(part) for part in (folder, *path)], list(words)]
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return code, (self._folder / "out").read_text(), (self._folder / "err").read_text()

    def close(self) -> None:
        """End the process from which they are forked."""
        self._process.communicate()
