"""Provenance: where a run's numbers come from. Nothing in here enters a table."""

import importlib.metadata
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
    """Command, time, commit, versions and machine of the run that starts now."""
    return {
        "command": sys.argv,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "num_workers": num_workers,
        "device": device,
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {package: _version(package) for package in _PACKAGES},
    }


def started_with(
    data_dir: str | Path | None,
    num_workers: int | None,
    device: str,
    checkpoint_every: int | None,
    clock: str,
) -> dict[str, Any]:
    """What a run was asked for that does not change its results, so that it goes on in the same way."""
    return {
        "data_dir": None if data_dir is None else str(Path(data_dir).resolve()),
        "workers": num_workers,
        "device": device,
        "checkpoint_every": checkpoint_every,
        "clock": clock,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The checkout's commit, with "+changes" where files differ from it; None outside a checkout."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit + ("+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10
    ).stdout.strip()
