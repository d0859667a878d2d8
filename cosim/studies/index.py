"""Index: what became of the runs of a study, so that going on with 1,000 of them reads one file.

`index.jsonl` gets a line whenever a run has ended, with its outcome and a stamp of its folder: sizes and
times of the files that a reader would read. A line counts only where the stamp is still that of the folder;
any other run is read, or played, again. A line that is damaged does not count.

Scope and limitations: it does not say which network a run had, so runs of a function of a user's own, whose
network may have changed, are read again.
"""

import hashlib
import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from cosim.tables import TABLES

_FILES = ("config.json", "summary.json", *(f"{table}.parquet" for table in TABLES))


class Index:
    """The index of a study folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "index.jsonl"
        self._lines: dict[str, dict[str, Any]] = {}
        with suppress(OSError):
            for line in self._path.read_bytes().splitlines():
                checksum, _, body = line.partition(b" ")
                if checksum == _checksum(body):
                    self._lines |= json.loads(body)

    def outcome(self, run: str) -> dict[str, Any] | None:
        """What became of the run in a folder within the study's, as far as it still is; None: unknown."""
        known = self._lines.get(run)
        return known["outcome"] if known and known["stamp"] == stamp(self._folder / run) else None

    def add(self, run: str, outcome: dict[str, Any]) -> None:
        """Note what became of a run; where that fails, it is read again."""
        known = {"outcome": outcome, "stamp": stamp(self._folder / run)}
        body = json.dumps({run: known}).encode()
        with suppress(OSError), self._path.open("ab") as file:
            file.write(b"\n" + _checksum(body) + b" " + body)


def stamp(folder: Path) -> str | None:
    """Sizes and times of the files of a run; None where one is missing."""
    try:
        found = [(path.st_size, path.st_mtime_ns) for path in map(Path.stat, map(folder.joinpath, _FILES))]
    except OSError:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def _checksum(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)
