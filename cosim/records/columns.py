"""Columns: many rows of one kind as arrays, in memory and on their way into tables."""

from collections.abc import Collection, Sequence
from itertools import accumulate, chain
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray


@attrs.frozen(eq=False)
class Words:
    """Column of words: row k has words[codes[k]]; a word may stand more than once."""

    words: Sequence[str]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, each: Sequence[str]) -> "Words":
        """The column of the word of each row."""
        place_of = {word: place for place, word in enumerate(dict.fromkeys(each))}
        codes = np.fromiter(map(place_of.__getitem__, each), dtype=np.int64, count=len(each))
        return cls(list(place_of), codes)

    def __getitem__(self, rows: NDArray[Any]) -> "Words":
        return Words(self.words, self.codes[rows])

    def __len__(self) -> int:
        return len(self.codes)

    def tolist(self) -> list[str]:
        """Word of each row."""
        return np.array(list(self.words), dtype=object)[self.codes].tolist()

    def isin(self, words: Collection[str]) -> NDArray[np.bool_]:
        """True for each row that has one of these words, shape (rows,)."""
        return np.array([word in words for word in self.words], dtype=bool)[self.codes]


Columns = dict[str, Any]
"""Many rows: column -> array, or `Words`."""


def stacked(parts: Sequence[Columns]) -> Columns:
    """Rows one below the other."""
    if len(parts) == 1:
        return parts[0]
    stacked: Columns = {}
    for name, first in parts[0].items():
        values = [of[name] for of in parts]
        if not isinstance(first, Words):
            stacked[name] = np.concatenate(values)
        elif all(of.words is first.words or of.words == first.words for of in values):
            stacked[name] = Words(first.words, np.concatenate([of.codes for of in values]))
        else:
            starts = accumulate((len(of.words) for of in values), initial=0)
            codes = np.concatenate([of.codes + start for of, start in zip(values, starts, strict=False)])
            stacked[name] = Words([*chain.from_iterable(of.words for of in values)], codes)
    return stacked
