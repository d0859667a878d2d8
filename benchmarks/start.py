"""How long a command takes to begin, beside a process that imports torch and ends.

Each way is a whole process, from its start to its exit: "import torch" nothing else, "show" the configuration
of a scenario, "quickstart" one global round from its digits to its picture, "hist" one of Fashion-MNIST's,
"timing only" the same without learning, "study" two short runs on a worker process each. All are run in turn,
so that a slow moment of the machine falls on all. Ratios are over "import torch" of the same turn: of wall
time, and of processor time, which other programs on the machine change less.

    python benchmarks/start.py
    python benchmarks/start.py --repetitions 11 --ways quickstart
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from tempfile import TemporaryDirectory
from typing import NamedTuple

COSIM = "from scenarios.command_line import main\nmain()"
TORCH = "import torch"
ONE_ROUND = ("--num-global-rounds", "1", "--quiet")

WAYS: dict[str, tuple[str, ...]] = {
    TORCH: (TORCH,),
    "show": (COSIM, "show", "quickstart"),
    "quickstart": (COSIM, "run", "quickstart", *ONE_ROUND),
    "hist": (COSIM, "run", "hist", *ONE_ROUND),
    "timing only": (COSIM, "run", "hist", *ONE_ROUND, "--evaluation.kind", "Never"),
    "study": (COSIM, "study", "quickstart", "--num-global-rounds", "1", "--seeds", "2", "--workers", "2"),
}
"""Name -> program and its words."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""So that modules are compiled once, as they are for a user."""


class Took(NamedTuple):
    """Wall and processor time of a process and its children."""

    wall_s: float
    processor_s: float


def took(program: str, *words: str) -> Took:
    """Times of a process that runs a program in an empty folder.

    Raises:
        CalledProcessError: It fails.
    """
    with TemporaryDirectory() as folder:
        before, start_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-c", program, *words]
        subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
        wall_s, after = time.perf_counter() - start_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall_s, processor_s)


def main() -> None:
    """Read the options, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    asked = parser.parse_args()
    names = dict.fromkeys([TORCH, *asked.ways])
    found: dict[str, list[Took]] = {name: [] for name in names}
    for repetition in range(asked.repetitions + 1):
        for name in names:
            own = took(*WAYS[name])
            if repetition:  # the first one warms up files
                found[name].append(own)
    print(f"medians of {asked.repetitions}{'wall s':>14}  / torch   processor s  / torch")
    for name, of in found.items():
        numbers: list[float] = []
        for column, beside in zip(zip(*of, strict=True), zip(*found[TORCH], strict=True), strict=True):
            ratios = [own / other for own, other in zip(column, beside, strict=True)]
            numbers += [statistics.median(column), statistics.median(ratios)]
        print(f"{name:14}{numbers[0]:13.2f} {numbers[1]:8.2f} {numbers[2]:13.2f} {numbers[3]:8.2f}")


if __name__ == "__main__":
    main()
