"""TextColumn: a column of text, whose cells are numbers where a part asks for numbers.

A number is written in ASCII digits with a point, as in `-1.5e3` or `.5`, or is `inf`. An empty cell is a gap.
So 1_000, 0x10, 1,5, １, nan and True are no numbers, and neither is 1e400, which no float64 holds.
"""

import math
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.configuration.rules import short

if TYPE_CHECKING:
    import pyarrow as pa

BLANKS = " \t\u00a0"
"""Characters that may stand around a cell and do not belong to it."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ENDLESS = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


def number_of(text: str) -> float:
    """The number that a cell says; NaN: none."""
    if _ENDLESS.fullmatch(text):
        return float(text)
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else math.nan


class TextColumn:
    """A column of a csv file.

    Args:
        cells: Its texts, a chunked array of strings, without blanks around them.
    """

    def __init__(self, cells: "pa.ChunkedArray") -> None:
        import pyarrow.compute as pc

        self._texts = pc.call_function("utf8_trim", [cells], pc.TrimOptions(BLANKS))

    def numbers(self, none: Collection[str] = ()) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers, NaN where a cell is none, and which cells are gaps, shapes (rows,)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        gaps = pc.call_function(
            "is_in", [self._texts], pc.SetLookupOptions(pa.array(["", *none], pa.string()))
        )
        texts = pc.call_function("if_else", [gaps, pa.scalar(None, pa.string()), self._texts])
        try:
            values = np.array(texts.cast(pa.float64()).to_numpy())
        except pa.ArrowInvalid:  # a cell is none: our rule says which
            values = np.array([number_of(text or "") for text in texts.to_pylist()])
        for place in np.flatnonzero(~np.isfinite(values)).tolist():  # Arrow reads nan, and 1e400 as infinite
            values[place] = number_of(self._texts[place].as_py())
        return values, gaps.to_numpy()

    def texts(self) -> "pa.ChunkedArray":
        """The cells as they are."""
        return self._texts

    def shown(self, row: int) -> str:
        """A cell for a message."""
        text = self._texts[row].as_py()
        return short(text if math.isfinite(number_of(text)) else repr(text))
