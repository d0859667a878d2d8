"""Parquet: the columns of a file by their types."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosim.configuration.rules import short
from cosim.files.parquet_files import parquet_file
from cosim.tables.faults import WrongType, fault, unreadable
from cosim.tables.room import check_parquet
from cosim.tables.table import Table
from cosim.tables.text_column import BLANKS

if TYPE_CHECKING:
    import pyarrow as pa


def table_of_parquet(path: Path) -> Table:
    """The table of a Parquet file; levels of an index that it holds are columns.

    Raises:
        ConfigurationError: It cannot be read; two columns have one name; there are no rows.
    """
    import pyarrow as pa

    try:
        with parquet_file(path) as file:
            check_parquet(path, file)
            found = file.read()
            found.validate(full=True)
    except (OSError, ValueError, pa.ArrowException, MemoryError) as error:
        raise unreadable(path, error, "a whole Parquet file") from None
    for name in found.column_names:
        if (count := found.column_names.count(name)) > 1:
            raise fault(path, f"appears {count} times", "one name for each column", column=name)
    if not found.num_rows:
        raise fault(path, "has no rows", "a file with the data")
    columns = {
        name: Typed(name, column) for name, column in zip(found.column_names, found.columns, strict=True)
    }
    return Table(path, columns, found.num_rows, lambda row: row + 1)


class Typed:
    """A column of a Parquet file."""

    def __init__(self, name: str, column: "pa.ChunkedArray") -> None:
        self._name, self._column = name, column

    def numbers(self, none: Collection[str] = ()) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Integers and floats; a null is a gap, and so is a NaN. They have no texts that stand for one."""
        import pyarrow as pa

        kind = self._column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
            raise WrongType(f"is of type {kind}, and no number", _as_numbers(kind, self._name))
        if pa.types.is_float16(kind):
            values = np.concatenate(
                [np.asarray(chunk.to_numpy(zero_copy_only=False), float) for chunk in self._column.chunks]
            )
        else:
            values = np.array(self._column.cast(pa.float64(), safe=False).to_numpy())
        return values, np.isnan(values)

    def texts(self) -> "pa.ChunkedArray":
        """Texts, whole numbers, and categories of either."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self._column.type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (
            pa.types.is_integer(plain)
            or pa.types.is_string(plain)
            or pa.types.is_large_string(plain)
            or pa.types.is_string_view(plain)
            or pa.types.is_null(plain)
        ):
            raise WrongType(f"is of type {kind}, and no name", "texts, or whole numbers as int64")
        return pc.call_function("utf8_trim", [self._column.cast(pa.string())], pc.TrimOptions(BLANKS))

    def shown(self, row: int) -> str:
        """A value for a message."""
        value: Any = self._column[row].as_py()
        return short(f"{value:g}" if isinstance(value, float) else repr(value))


def _as_numbers(kind: "pa.DataType", name: str) -> str:
    """How to make numbers of a column of another type."""
    import pyarrow as pa

    column = f"frame[{name!r}]"
    if pa.types.is_duration(kind):
        return f"seconds as floats: {column}.dt.total_seconds()"
    if pa.types.is_temporal(kind):
        return f"seconds since the start as floats: ({column} - {column}.iloc[0]).dt.total_seconds()"
    if pa.types.is_dictionary(kind) or pa.types.is_decimal(kind):
        return f"floats: {column}.astype(float)"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return f"floats: pandas.to_numeric({column})"
    return "integers or floats, in the unit of the name"
