"""Folders: made whole or not at all, and filled by one process at a time.

A run and a study have a folder each. It appears with its first files in it, however the process that makes it
ends. The process that fills it holds a lock on it, which ends with the process.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import partial_of, shown, sweep

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
        raise _cannot_be_written(folder, error) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(staging)


def check_writable(folder: Path) -> None:
    """Refuse a folder that is, or is to be, where nothing can be written.

    Raises:
        ConfigurationError: It cannot be written.
    """
    there = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    try:
        with TemporaryDirectory(dir=there, prefix=".", suffix=".partial"):
            pass
    except OSError as error:
        raise _cannot_be_written(folder, error) from None


def _cannot_be_written(folder: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"{shown(folder)}: cannot be written ({error.strerror}). Use a folder of yours."
    )


def remove_folder(folder: Path, what: str) -> None:
    """Remove a folder, at once and only when no process fills it.

    Args:
        what: That was played in it: run or study.
    """
    with alone_in(folder, what, waits=True):
        aside = partial_of(folder)
        folder.rename(aside)
    shutil.rmtree(aside)


@contextmanager
def alone_in(folder: Path, what: str, *, waits: bool = False) -> Iterator[None]:
    """Keep other processes from filling a folder too; ends with the process, however it ends.

    Args:
        what: That is played in it: run or study.
        waits: True to wait for a process that fills it.

    Raises:
        ConfigurationError: Another process fills it, or it cannot be locked.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise _not_locked(folder, error) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                f"out = {shown(folder)}: another process is running this {what}. Wait until it ends, "
                "or use another --out."
            ) from None
        except OSError as error:
            raise _not_locked(folder, error) from None
        sweep(folder)
        yield
    finally:
        os.close(handle)


def _not_locked(folder: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"out = {shown(folder)}: cannot be locked ({error.strerror}). Use a folder of yours, on a disk "
        "that supports locks."
    )
