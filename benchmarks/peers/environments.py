"""Environments: one for each tool, so that none decides the versions of another.

    python -m benchmarks.peers.environments FOLDER                    # all, in a few minutes
    python -m benchmarks.peers.environments FOLDER --tools pfl flgo

The tools get the torch of constraints.txt, and numpy as far as they allow. Each environment is a virtual
environment of this Python, FOLDER/TOOL, and takes about 1 GB. cosim and bare SimPy run in the environment
that runs the benchmark. Nothing is installed outside of FOLDER.

BlazeFL is not among them: its releases need a Python that is newer than cosim's (docs/peers.md).
"""

import argparse
import subprocess
import sys
import venv
from pathlib import Path

TORCH = "torch==2.13.0"
PACKAGES = {
    "pfl": ("pfl[pytorch]==0.6.0", TORCH),
    "flower": ("flwr[simulation]==1.42.0", TORCH),
    "flgo": ("flgo==0.4.4", TORCH),
    "appfl": ("appfl==1.12.0", TORCH),
}
"""Tool -> what pip installs."""
OF_THIS = ("cosim", "loop", "simpy", "ceiling")
"""Tools that run in the environment of the benchmark itself."""


def python_of(tool: str, folder: Path) -> Path:
    """The interpreter of a tool."""
    return Path(sys.executable) if tool in OF_THIS else folder / tool / "bin" / "python"


def make(tool: str, folder: Path) -> None:
    """Make the environment of a tool, unless it is there.

    Raises:
        CalledProcessError: Its packages cannot be installed.
    """
    python = python_of(tool, folder)
    if not python.exists():
        venv.create(folder / tool, with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", "typing-extensions", *PACKAGES[tool]]
    subprocess.run(install, check=True)


def main() -> None:
    """Make the environments that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tools", nargs="+", default=list(PACKAGES), choices=list(PACKAGES))
    asked = parser.parse_args()
    for tool in asked.tools:
        make(tool, asked.folder.resolve())
        print(f"{tool}: {' '.join(PACKAGES[tool])}", flush=True)


if __name__ == "__main__":
    main()
