"""Digest: a number for all rows of a run so far, by which a replay is checked.

For each kind, it has the sum of a hash of each row, modulo 2^64, and the number of rows. So it depends on
every value of every row, a float by its bits, and neither on the order in which rows are recorded, nor on how
they are grouped, kept or handed over. Two different sets of rows agree by chance once in 2^64; it is no
protection against intent. [mixing: Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
2014]

Rows are digested once they are final (`KeptRows.moment`): rows that ended before the instant of a version,
and, at that instant, rows of the global rounds that have ended. Weights and their scores are not part of it.

Validation: tests/recording/test_digest.py.
"""

import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.files.interrupts import interrupts_deferred
from cosim.recording.kept_rows import KeptRows, Moment
from cosim.records.columns import Columns, Words
from cosim.records.tables import ENDS, TABLES

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_NONE = (0, 0)

Sums = Mapping[str, tuple[int, int]]
"""Table -> number of rows, and the sum of their hashes."""


class Digest:
    """Digest of the rows of one run, which grows with them.

    Args:
        kept: Its rows; rows are given to the digest here before they are forgotten.
    """

    def __init__(self, kept: KeptRows) -> None:
        self._kept = kept
        self._until_s, self._sums = -math.inf, dict.fromkeys(TABLES, _NONE)
        self._marked: Moment | None = None
        self._of_marked: dict[str, str] | None = None

    def mark(self, moment: Moment) -> None:
        """Keep the state of a moment's digest, until another is marked."""
        with interrupts_deferred():
            self._kept.complete(math.nextafter(moment.before_s, -math.inf))
            self._marked, self._of_marked = moment, None

    def at(self, moment: Moment) -> dict[str, str]:
        """Digest of the rows that are final at a moment, by table.

        Args:
            moment: The marked one, or one that is no earlier than all that were asked for.
        """
        if moment == self._marked and self._of_marked is not None:
            return self._of_marked
        until_s = math.nextafter(moment.before_s, -math.inf)
        assert until_s >= self._until_s
        self._advance(until_s)
        sums = dict(self._sums)
        if moment.before_s == moment.now_s:
            for name, columns in self._kept.tables(moment.now_s, until_s).items():
                if "global_round" in columns and ENDS[TABLES[name]] == "end_s":
                    rounds = columns["global_round"]
                    which = (rounds > 0) & (rounds <= moment.num_global_rounds)
                    sums[name] = _added(sums[name], {key: of[which] for key, of in columns.items()})
        return {name: f"{num} {total:016x}" for name, (num, total) in sums.items() if num}

    def let_go(self, until_s: float) -> None:
        """Add the rows that ended by an instant, and are going to be forgotten."""
        if self._marked is not None and self._of_marked is None:
            self._of_marked = self.at(self._marked)
        self._advance(until_s)

    def _advance(self, until_s: float) -> None:
        """Add the rows that ended by an instant: all of them or, on an error, none."""
        if until_s <= self._until_s:
            return
        with interrupts_deferred():
            self._kept.complete(until_s)
            found = self._kept.tables(until_s, self._until_s)
            sums = {name: _added(self._sums[name], columns) for name, columns in found.items()}
            self._until_s, self._sums = until_s, self._sums | sums


def _added(sums: tuple[int, int], columns: Columns) -> tuple[int, int]:
    """Number and sum after some more rows."""
    values = [_bits(column) for column in columns.values()]
    hashes = np.zeros(len(values[0]), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in values:
            hashes = _mixed(hashes + column + _STEP)
        return sums[0] + len(hashes), (sums[1] + int(hashes.sum())) % 2**64


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> _SHIFTS[0])) * _FACTORS[0]
    values = (values ^ (values >> _SHIFTS[1])) * _FACTORS[1]
    return values ^ (values >> _SHIFTS[2])


def _bits(column: Any) -> NDArray[np.uint64]:
    """Values as 64 bits each, shape (rows,)."""
    if isinstance(column, Words):
        hashes = np.array([_of_word(word) for word in column.words], dtype=np.uint64)
        return hashes[column.codes] if len(column) else hashes[:0]
    if column.dtype == np.float64:
        return np.ascontiguousarray(column).view(np.uint64)
    return column.astype(np.int64).view(np.uint64)


@lru_cache(maxsize=1_000_000)
def _of_word(word: str) -> int:
    """Hash of a word that is the same in every process, unlike `hash`."""
    return int.from_bytes(hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest())
