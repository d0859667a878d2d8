"""Index: outcomes of the runs of a study, so that resuming 1,000 of them reads one file.

`index.jsonl` gets a line whenever a run has ended, with its outcome, its network and a stamp of its folder:
sizes and times of the files that a reader would read. A line counts only if the stamp still matches the
folder (a failed run may have none); any other run is read, or run, again. Further lines have the checksums of
the tables of runs that were written. A damaged line does not count.
"""

import hashlib
import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from cosim.records.measures import Measure
from cosim.records.tables import TABLES
from cosim.results.from_json import from_json

_FILES = ("config.json", "summary.json", *(f"{table}.parquet" for table in TABLES))
_TABLE = "table"
_OF_A_RUN = ("design", "name", "base", "seed", "folder")
"""Columns of the table of runs that an outcome does not change."""


class Index:
    """The index of a study folder.

    Attributes:
        tables: Checksums of the tables of runs; empty means unknown.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "index.jsonl"
        self._lines: dict[str, dict[str, Any]] = {}
        self.tables: set[str] = set()
        with suppress(OSError):
            for line in self._path.read_bytes().splitlines():
                checksum, _, body = line.partition(b" ")
                if checksum == _checksum(body):
                    found = _line(body)
                    self._lines |= {run: known for run, known in found.items() if run != _TABLE}
                    self.tables |= {found[_TABLE]} if _TABLE in found else set()

    def outcome(self, run: str) -> dict[str, Any] | None:
        """Outcome of the run in a folder within the study's, if it still holds; None means unknown."""
        known = self._lines.get(run)
        return known["outcome"] if known and known["stamp"] == stamp(self._folder / run) else None

    def network(self, run: str) -> dict[str, str] | None:
        """Identity of a run's network, as in its config.json; None means unknown."""
        return self._lines.get(run, {}).get("network")

    def add(self, run: str, outcome: dict[str, Any], network: dict[str, str] | None = None) -> None:
        """Add the outcome of a run; if that fails, the run is read again."""
        known = {"outcome": outcome, "network": network, "stamp": stamp(self._folder / run)}
        if self._lines.get(run) != known:
            self._lines[run] = known
            self._write({run: known})

    def add_table(self, checksum: str) -> None:
        """Add the checksum of a table of runs, before it is put in its place."""
        self.tables.add(checksum)
        self._write({_TABLE: checksum})

    def _write(self, line: dict[str, Any]) -> None:
        body = json.dumps(line).encode()
        with suppress(OSError), self._path.open("ab") as file:
            file.write(b"\n" + _checksum(body) + b" " + body)


def _line(body: bytes) -> dict[str, Any]:
    """Content of a line; empty if it has something that no study writes."""
    try:
        found = json.loads(body)
        return found if all(_is_known(*item) for item in found.items()) else {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _is_known(run: str, known: Any) -> bool:
    """True if an outcome has a study's types, and does not say which run it belongs to."""
    if run == _TABLE:
        return isinstance(known, str)
    texts, numbers = {"status": "", "error": "", "protocol": ""}, dict(known["outcome"])
    texts |= {name: numbers.pop(name) for name in texts if name in numbers}
    for measure in numbers.pop("measures", {}).values():
        from_json(Measure, measure)
    return (
        all(isinstance(text, str) for text in texts.values())
        and all(type(number) in (int, float) for number in numbers.values())
        and not any(name in _OF_A_RUN or name.startswith("field.") for name in numbers)
        and isinstance(known["stamp"], str | None)
        and isinstance(known["network"], dict | None)
    )


def stamp(folder: Path) -> str | None:
    """Sizes and times of the files of a run; None if one is missing."""
    try:
        found = [(path.st_size, path.st_mtime_ns) for path in map(Path.stat, map(folder.joinpath, _FILES))]
    except OSError:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def _checksum(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)
