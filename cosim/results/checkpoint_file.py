"""Checkpoint file: arrays by name in a run's folder, and the ones before, in case the last are damaged."""

import shutil
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cosim.files.on_disk import replace, shown
from cosim.results.unreadable import Unreadable
from cosim.tables.room import check_npz

T = TypeVar("T")
FILE = "checkpoint.npz"
BEFORE = "checkpoint-before.npz"
"""Name of the checkpoint before, in case the last is damaged."""


class DamagedCheckpoint(Unreadable):
    """Error: no run can resume from a checkpoint."""


def damaged(path: Path | str, why: str) -> DamagedCheckpoint:
    """Error for a checkpoint from which no run can resume."""
    where = shown(path) if isinstance(path, Path) else path
    return DamagedCheckpoint(f"{where}: damaged ({why}).", "Remove it to run from the beginning.")


def write(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays with a version, whole or not at all."""
    if (folder / FILE).exists() and _is_sound(folder / FILE):
        # A copy, so that there is a last one at every instant.
        replace(folder / BEFORE, lambda partial: shutil.copyfile(folder / FILE, partial))

    def fill(partial: Path) -> None:
        with partial.open("wb") as file:
            np.savez(file, **arrays)

    replace(folder / FILE, fill)


def read(folder: str | Path, of: Callable[[Any], T]) -> T | None:
    """Something made of the arrays of a folder, or None if there are none yet.

    Args:
        of: Makes it; an error that it raises means that the file is damaged.

    Warns:
        UserWarning: The file is damaged, and these are the arrays before.

    Raises:
        ConfigurationError: The file is damaged, and there is none before.
    """
    last, before = Path(folder) / FILE, Path(folder) / BEFORE
    if not last.exists():
        return None
    try:
        return _read(last, of)[1]
    except DamagedCheckpoint as error:
        if not before.exists():
            raise
        version, found = _read(before, of)
        warnings.warn(f"{error.why} The one before it is used, of version {version}.", stacklevel=3)
        return found


def learned_in(folder: Path) -> dict[str, NDArray[np.float32]] | None:
    """Weights of the model that the run of a folder keeps; as `read`."""
    return read(
        folder, lambda arrays: beginning_with("kept." if "kept_version" in arrays else "weights.", arrays)
    )


def beginning_with(word: str, arrays: Any) -> dict[str, NDArray[Any]]:
    """Arrays whose names begin with a word, by the rest of them.

    Raises:
        ValueError: One holds no numbers.
    """
    found = {name.removeprefix(word): arrays[name] for name in arrays.files if name.startswith(word)}
    for name, values in found.items():
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{word}{name} holds no numbers")
    return found


def _read(path: Path, of: Callable[[Any], T]) -> tuple[int, T]:
    try:
        check_npz(path)
        if not _is_sound(path):
            raise ValueError("wrong checksum")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return int(arrays["version"]), of(arrays)
    except Exception as error:  # there is hardly one that a damaged archive cannot raise
        raise damaged(path, str(error) or type(error).__name__) from None


def _is_sound(path: Path) -> bool:
    """True if all that is in the file has its checksum."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False
