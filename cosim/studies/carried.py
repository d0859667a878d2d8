"""Carried: folders of runs from workers that do not see the asker's disk.

Such a worker runs in a temporary folder of its own. The files of the folder come back with the outcome, and
the asker puts them where the run was to be.

Scope and limitations: a folder passes through the memory of both, and through that of a cluster's scheduler.
Nothing of a run that is under way is seen by others, so one whose worker dies begins again elsewhere.

Validation: tests/studies/test_asker.py.
"""

from pathlib import Path
from typing import Any

from cosim.files.folders import LOCK, create_folder, remove_folder

FILES = "files"
"""Key of an outcome that is no column: path within the run's folder -> content, in bytes."""


def contents(folder: Path) -> dict[str, bytes]:
    """Files of a run's folder."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != LOCK)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def put_in_place(folder: Path, outcome: dict[str, Any]) -> dict[str, Any]:
    """Make the folder of a run of the files that its outcome carries, if it does; returns what is left of it.

    Raises:
        ConfigurationError: It cannot be written.
    """
    files = outcome.pop(FILES, None)
    if files:
        if folder.exists():
            remove_folder(folder, "run")
        create_folder(folder, lambda staging: _write(staging, files))
    return outcome


def _write(staging: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = staging / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
