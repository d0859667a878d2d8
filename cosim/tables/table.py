"""Table: named columns of a file, whatever its form, asked for as numbers or as names."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.tables.faults import WrongType, fault, missing, place

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = 1e30
"""Largest number, the same as for a configuration."""


class Column(Protocol):
    """Content of a column in one form of files."""

    def numbers(self, none: Collection[str] = ()) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers, NaN where there is none, and which rows are gaps, shapes (rows,).

        Args:
            none: Texts that stand for a gap.

        Raises:
            WrongType: It holds no numbers.
        """
        ...

    def texts(self) -> "pa.ChunkedArray":
        """Names, as strings without blanks around them; a gap is null or empty.

        Raises:
            WrongType: It holds no names.
        """
        ...

    def shown(self, row: int) -> str:
        """A value for a message."""
        ...


class Names(NamedTuple):
    """A column of names.

    Attributes:
        each: Every name once, as they come.
        which: The place in `each` of every row's, shape (rows,).
    """

    each: Sequence[str]
    which: NDArray[np.int64]


class Table:
    """The columns of a file.

    Args:
        path: Of the file.
        columns: Name -> column.
        num_rows: Of each column.
        line: A row, from 0, as the user counts it.

    Attributes:
        path: Of the file.
        num_rows: Of each column.
        line: A row, from 0, as the user counts it.
    """

    def __init__(
        self, path: Path, columns: Mapping[str, Column], num_rows: int, line: Callable[[int], int]
    ) -> None:
        self.path, self.num_rows = path, num_rows
        self._columns, self.line = columns, line

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def check_columns(self, *needed: str) -> None:
        """Refuse a table without columns that it needs.

        Raises:
            ConfigurationError: The first that is missing.
        """
        for name in needed:
            if name not in self._columns:
                raise missing(self.path, name, self.columns)

    def numbers(
        self,
        name: str,
        *,
        least: float = 0.0,
        most: float = LARGEST,
        gaps: bool = False,
        none: Collection[str] = (),
    ) -> NDArray[np.float64]:
        """A column of numbers from the smallest to the largest that may be, shape (rows,).

        Args:
            gaps: True if a row may have none, which becomes a NaN.
            none: Texts that stand for none, besides an empty cell.

        Raises:
            ConfigurationError: There is no such column, or something else in it.
        """
        self.check_columns(name)
        try:
            found, are_gaps = self._columns[name].numbers(none)
        except WrongType as error:
            raise fault(self.path, error.what, error.instead, column=name) from None
        if not gaps:
            self.check(name, are_gaps, "is empty", "a number, or leave the row out", value=False)
        self.check(name, np.isnan(found) & ~are_gaps, "is no number", "a number such as 12.5 or 1.5e6")
        self.check(name, found < least, f"is below {least:g}", f"{least:g} or above")
        self.check(name, found > most, f"is above {most:g}", f"at most {most:g}, in the unit of the name")
        return found

    def names(self, name: str) -> Names:
        """A column of names, none of which is empty.

        Raises:
            ConfigurationError: There is no such column, or something else in it.
        """
        import pyarrow as pa

        coded = pa.chunked_array([self._texts(name).combine_chunks()]).dictionary_encode().chunk(0)
        each: list[str] = coded.dictionary.to_pylist()
        which = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        if "" in each:
            self.check(name, which == each.index(""), "is empty", "a name, or leave the row out", value=False)
        return Names(each, which)

    def texts(self, name: str) -> list[str]:
        """A column of texts, of which a gap is empty.

        Raises:
            ConfigurationError: There is no such column, or something else in it.
        """
        return self._texts(name).to_pylist()

    def _texts(self, name: str) -> "pa.ChunkedArray":
        self.check_columns(name)
        try:
            return self._columns[name].texts().fill_null("")
        except WrongType as error:
            raise fault(self.path, error.what, error.instead, column=name) from None

    def check(
        self, name: str, is_wrong: NDArray[np.bool_], what: str, instead: str, *, value: bool = True
    ) -> None:
        """Refuse rows for what is in a column.

        Args:
            value: True if the message says what is there.

        Raises:
            ConfigurationError: The first of them.
        """
        if is_wrong.any():
            row = int(is_wrong.argmax())
            what = f"{self._columns[name].shown(row)} {what}" if value else what
            raise self.fault(row, name, what, instead)

    def hold_against(self, name: str, values: NDArray[np.float64], refuse: Callable[[float], object]) -> None:
        """Refuse the first row whose value a class refuses, in its words.

        Args:
            values: The column's, shape (rows,); a NaN is passed over.
            refuse: Raises a ConfigurationError for a value that it refuses.

        Raises:
            ConfigurationError: That of the class, with the row and column.
        """
        for row, value in enumerate(values.tolist()):
            if not math.isnan(value):
                with self.told(row, name):
                    refuse(value)

    @contextmanager
    def told(self, row: int, name: str) -> Iterator[None]:
        """Put the place of a value, by its row, from 0, and column, before an error of a class."""
        try:
            yield
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.place(row, name)}: {error}", error.field) from None

    def place(self, row: int, name: str) -> str:
        """Place of a value in the file, by its row, from 0, and column."""
        return place(self.path, self.line(row), name)

    def fault(self, row: int, name: str, what: str, instead: str) -> ConfigurationError:
        """The error of a value, by its row, from 0, and column."""
        return fault(self.path, what, instead, row=self.line(row), column=name)
