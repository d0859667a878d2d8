"""Files: written whole or not at all, also when the disk is full, the process is killed or the power goes."""

import errno
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosim.configuration import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file beside its place, and put it there when it is on the disk.

    Args:
        path: Its place; what was there before stays until the new one is whole.
        write: Writes it to a path.

    Raises:
        ConfigurationError: It cannot be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        write(partial)
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        full = any(error.errno == number or f"errno {number}]" in str(error) for number in _FULL)
        fix = "make room on the disk" if full else "a folder that is there and that you may write to"
        raise ConfigurationError(
            f"{path}: cannot be written ({error.strerror or error}). What was saved before is whole. Usual "
            f"fix: {fix}, then the same command again, for a run cosim run --resume."
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def write_table(path: Path, frame: "pd.DataFrame") -> None:
    """Write a Parquet table."""
    replace(path, lambda partial: frame.to_parquet(partial, index=False))


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file."""
    replace(path, lambda partial: partial.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n"))
