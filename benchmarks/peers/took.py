"""Took: wall and processor time of a whole process, with all processes that it leaves behind.

A process that outlives its parent is handed to this one, so that its processor time is counted too (Linux).
"""

import ctypes
import json
import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
_ORPHANS_COME_HERE = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h


class Took(NamedTuple):
    """Times of a process, and the last line that it printed.

    Attributes:
        wall_s: From its start to its end.
        processor_s: Of all cores, with its children.
        told: The line, as JSON.
    """

    wall_s: float
    processor_s: float
    told: Mapping[str, Any]


def took(command: Sequence[str], num_cores: int, threads: int) -> Took:
    """Run a program on some cores, in an empty folder.

    Args:
        threads: Threads that a process of it may use for a matrix product.

    Raises:
        RuntimeError: It fails; has its output.
    """
    ctypes.CDLL(None).prctl(_ORPHANS_COME_HERE, 1, 0, 0, 0)
    cores = sorted(os.sched_getaffinity(0))[:num_cores]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(threads)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as they are for a user
    with TemporaryDirectory() as folder:
        before, start_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        wall_s = time.perf_counter() - start_s
        _wait_for_orphans()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall_s, processor_s, json.loads(done.stdout.strip().splitlines()[-1]))


def _wait_for_orphans() -> None:
    """Wait until no process is left that was started, for a minute at most."""
    for _ in range(1200):
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            return
    raise RuntimeError("Processes of a tool are left after a minute. End them, and run again.")
