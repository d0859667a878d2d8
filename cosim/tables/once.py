"""Once: what a file says is read once by a process, and again when the file has changed.

A file is known again by its size, number and times on the disk. One that was hashed within a tick of the
disk's clock after a change may have been changed again in that tick, so the next reading hashes it again.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from cosim.files.on_disk import checksum

Read = TypeVar("Read")
FINE_S, COARSE_S = 0.1, 2.0
"""Ticks at most: of a disk that writes fractions of a second, where kernels count in up to 16 ms, and of one
that writes whole seconds, as FAT does in twos.
"""
_MOST = 8
"""Files that are kept."""


class _Known(NamedTuple):
    stamp: tuple[int, ...]
    content: str
    is_final: bool
    found: Any


_kept: "OrderedDict[tuple[Any, Path], _Known]" = OrderedDict()


def once(read: Callable[[Path], Read], path: Path) -> Read:
    """Result of `read` for a file, kept until the file changes; without a file, what `read` says to that."""
    try:
        key, stamp, is_final = (read, path), *_stamp(path)
    except OSError:
        return read(path)
    known = _kept.get(key)
    if known is None or known.stamp != stamp or not known.is_final:
        content = checksum(path)
        found = known.found if known is not None and known.content == content else read(path)
        _kept[key] = known = _Known(stamp, content, is_final, found)
        while len(_kept) > _MOST:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return known.found


def _stamp(path: Path) -> tuple[tuple[int, ...], bool]:
    """By what a file is known, and True if any later change has another time."""
    found = path.stat()
    changed_ns = max(found.st_mtime_ns, found.st_ctime_ns)
    tick_s = FINE_S if changed_ns % 10**9 else COARSE_S
    is_final = time.time() - changed_ns / 1e9 > tick_s
    stamp = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return stamp, is_final
