"""Folders: made whole or not at all, and filled by one process at a time.

A run and a study have a folder each. It appears with its first files in it, however the process that makes it
ends. The process that fills it holds a lock on it, which ends with the process.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import cannot_be_written, machine, partial_of, shown, sweep

LOCK = ".lock"
"""The file of a folder that its process locks. It stays; the system frees the lock when the process ends."""

_EXISTS = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


def create_folder(folder: Path, fill: Callable[[Path], Any]) -> None:
    """Make a folder with its first files, whole or not at all.

    Args:
        fill: Writes them into a folder, which is then put in place.

    Raises:
        FileExistsError: There is something already.
        ConfigurationError: It cannot be written.
    """
    staging = partial_of(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        staging.mkdir()
        fill(staging)
        staging.rename(folder)
    except OSError as error:
        if error.errno in _EXISTS and folder.exists():
            raise FileExistsError(str(folder)) from None
        raise cannot_be_written(folder, error) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(staging)


def remove_folder(folder: Path, what: str) -> None:
    """Remove a folder, at once and only when no process fills it.

    Args:
        what: Run or study, whichever was in it.
    """
    with alone_in(folder, what, waits=True):
        aside = partial_of(folder)
        folder.rename(aside)
    shutil.rmtree(aside)


@contextmanager
def alone_in(folder: Path, what: str, *, waits: bool = False) -> Iterator[None]:
    """Keep other processes from filling a folder too; ends with the process, however it ends.

    Args:
        what: Run or study, whichever is in it.
        waits: True to wait for a process that fills it.

    Raises:
        ConfigurationError: Another process fills it, or it cannot be locked.
    """
    lock = FileLock(folder / LOCK, fallback_to_soft=False)
    try:
        lock.acquire(blocking=waits)
    except Timeout:
        raise ConfigurationError(
            f"{shown(folder)}: in use by {holder(folder) or 'another process'}, which is running this "
            f"{what}. Wait until it ends, or use another folder."
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"{shown(folder)}: cannot be locked ({error.strerror or error}). Use a folder of yours, on a "
            "disk that supports locks."
        ) from None
    try:
        with suppress(OSError):
            (folder / LOCK).write_text(f"process {os.getpid()} of {machine()}", encoding="utf-8")
        sweep(folder)
        yield
    finally:
        lock.release()


def holder(folder: Path) -> str:
    """The process that last had a folder's lock, as its lock file names it; empty if it does not say."""
    with suppress(OSError, UnicodeDecodeError):
        return (folder / LOCK).read_text(encoding="utf-8")
    return ""
