"""Entry: the command line of a tool's program, and the numbers that it tells at its end.

    python -m benchmarks.peers.in_TOOL WORK --samples FOLDER --cores NUMBER --way NAME --rounds NUMBER

Its last line is an object of JSON, with the numbers of `Told` and the versions of its packages.
"""

import argparse
import json
import math
import platform
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import work


class Asked(NamedTuple):
    """Work that a program of a tool is asked to do.

    Attributes:
        name: Name of a work.
        samples: Folder with its samples.
        num_cores: Cores that it may use.
        way: Way in which the tool works on several cores.
    """

    name: str
    samples: Path
    num_cores: int
    way: str


class Told(NamedTuple):
    """Counts, time and loss that a program of a tool tells.

    Attributes:
        client_steps: Local steps of all clients, or their jobs where nothing is learned, as counted.
        inside_s: Wall time of the run itself, without imports and reading.
        loss: Cross entropy of the last model on the test samples; nan where nothing is learned.
        times_s: Times at which versions of the global model are made, where these are what is asked.
    """

    client_steps: float
    inside_s: float
    loss: float = math.nan
    times_s: tuple[float, ...] = ()


def asked() -> Asked:
    """Work that the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--samples", type=Path, default=Path())
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--way", default="")
    parser.add_argument("--rounds", type=int)
    found = parser.parse_args()
    work.shorten(found.rounds)
    return Asked(found.name, found.samples, found.cores, found.way)


def tell(told: Told, *packages: str) -> None:
    """Print what a program has to tell, with the versions of Python and of its packages."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in packages}
    print(json.dumps(told._asdict() | {"versions": versions}), flush=True)
