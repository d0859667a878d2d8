"""Provenance: where a run's numbers come from, as its folder says in `provenance.json`.

Nothing in here enters a table. A folder of a newer cosim is refused by it, and so are runs of a study by
another cosim than its others (`cosim.results.versions`). A file that is damaged is a warning.
"""

import hashlib
import importlib.metadata
import platform
import re
import subprocess
import sys
import warnings
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from cosim.files.on_disk import read_json, shown, write_json
from cosim.results.unreadable import Unreadable

FILE = "provenance.json"
CHANGES = "+changes"
"""Suffix of a commit whose tree held changes."""
_PACKAGES = (
    "cosim",
    "torch",
    "numpy",
    "scipy",
    "simpy",
    "networkx",
    "pandas",
    "pyarrow",
    "scikit-learn",
    "attrs",
)


def provenance(seed: int, num_workers: int, device: str) -> dict[str, Any]:
    """Command, time, commit, code, versions and machine of the run that starts now."""
    return {
        "command": sys.argv,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "num_workers": num_workers,
        "device": device,
        **software(),
    }


def software() -> dict[str, Any]:
    """Commit, code, versions, machine and processor of this process."""
    return {
        "commit": _commit(),
        "code": _code(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "versions": {package: _version(package) for package in _PACKAGES},
    }


def noted(folder: Path) -> dict[str, Any]:
    """Notes of the processes that ran a simulation; empty where there are none.

    Warns:
        UserWarning: The file is damaged.
    """
    if not (folder / FILE).exists():
        return {}
    try:
        return read_json(folder / FILE)
    except ValueError as error:
        where = shown(folder / FILE)
        warnings.warn(
            f"{where}: damaged ({error}). It is left out, as no result depends on it.", stacklevel=2
        )
        return {}


def add_note(folder: Path, own: dict[str, Any]) -> None:
    """Note in a run folder that another process goes on with it."""
    first = noted(folder)
    before = first.get("resumed", [])
    write_json(folder / FILE, first | {"resumed": [*(before if isinstance(before, list) else []), own]})


def check_version(folder: Path) -> None:
    """Refuse a run folder that a newer cosim has written, whose tables may mean something else.

    Raises:
        Unreadable: A newer cosim has written it.
    """
    try:
        origin = read_json(folder / FILE)
        versions = [run["versions"]["cosim"] for run in (origin, *origin.get("resumed", []))]
        written_by, own = max(versions, key=_numbers), importlib.metadata.version("cosim")
        newer = _numbers(written_by) > _numbers(own)
    except (ValueError, TypeError, KeyError, AttributeError, importlib.metadata.PackageNotFoundError):
        return  # a folder that does not say, or that other checks refuse
    if newer:
        what = f"{shown(folder)}: written by cosim {written_by}, and this is {own}."
        raise Unreadable(what, "Use a newer cosim (git pull, then pip install again).")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


@cache
def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def _processor() -> str:
    """Name of the kind of processor, on which the last digits of matrix products depend."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@cache
def _commit() -> str | None:
    """The checkout's commit, with `CHANGES` where files differ from it; None outside a checkout.

    As they are when a process first runs a system: what it has loaded stays.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit + (CHANGES if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


@cache
def _code() -> str:
    """Hash (SHA-256) of the Python files of cosim, by their names and contents."""
    root, found = Path(__file__).resolve().parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10
    ).stdout.strip()
