"""Tables: rows in pandas and in Arrow, and the Parquet files of a run that hold them.

What they are and how they are ordered: `cosim.records.tables`. A file is identified by its checksum, which
`summary.json` keeps.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from cosim.files.parquet_files import parquet_file
from cosim.names import ClientNames
from cosim.records.columns import Columns, Words
from cosim.records.job_costs import COLUMNS
from cosim.records.tables import AT_EVALUATIONS, TABLES, dtypes_of
from cosim.tables.room import check_parquet

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MAY_LACK = {"clients": ("kind", "snr_db", "num_samples", "num_labels", "accuracy")}
"""Columns that a table has only where a run has their quantity."""


def file_of(folder: Path, name: str) -> Path:
    """Path of a table."""
    return folder / f"{name}.parquet"


def table_of(columns: Columns) -> "pd.DataFrame":
    """Table with these columns."""
    import pandas as pd  # only when a table is needed

    frame = {
        column: _in_strings(values) if isinstance(values, Words) else values
        for column, values in columns.items()
    }
    return pd.DataFrame(frame)


def arrow_of(columns: Columns) -> "pa.Table":
    """Table of Arrow with these columns, written without a detour through pandas that takes as long again."""
    import pyarrow as pa

    arrays = [
        _strings(values) if isinstance(values, Words) else pa.array(values, from_pandas=True)
        for values in columns.values()
    ]
    kinds = tuple("" if isinstance(values, Words) else str(values.dtype) for values in columns.values())
    return pa.Table.from_arrays(arrays, schema=_schema(tuple(columns), kinds))


@cache
def _schema(names: tuple[str, ...], kinds: tuple[str, ...]) -> "pa.Schema":
    """Schema of a pandas table, so that pandas reads the same table again.

    Args:
        kinds: Types of the columns, in numpy's words; "" for texts.
    """
    import pyarrow as pa

    columns = {  # with a row, because pandas 2 has no type for texts without one
        name: np.zeros(1, dtype=kind) if kind else Words([""], np.zeros(1, dtype=np.int64))
        for name, kind in zip(names, kinds, strict=True)
    }
    return pa.Schema.from_pandas(table_of(columns), preserve_index=False)


def of_direction(transfers: "pd.DataFrame", direction: str) -> "pd.DataFrame":
    """Transfers in one direction; all of them, if there are none in the other."""
    is_of = (transfers["direction"] == direction).to_numpy()
    return transfers if is_of.all() else transfers[is_of]


def _in_strings(column: Words) -> "pd.api.extensions.ExtensionArray":
    import pandas as pd

    return pd.array(_strings(column), dtype="str")


def _strings(column: Words) -> "pa.Array":
    import pyarrow as pa

    if isinstance(column.words, ClientNames):
        words = _names(column.words)
    else:
        words = pa.array(list(column.words), pa.large_string())
    if np.array_equal(column.codes, np.arange(len(words))):
        return words
    return words.take(pa.array(column.codes))


def _names(clients: ClientNames) -> "pa.Array":
    """Names of clients, as `client_name` gives each, a tenth of the time for a million."""
    import pyarrow as pa
    from pyarrow import compute

    text = pa.large_string()
    numbers = pa.array(np.arange(clients.first, clients.first + clients.num)).cast(text)
    padded = compute.call_function("utf8_lpad", [numbers], compute.PadOptions(4, "0"))
    parts = [pa.scalar("client", text), padded, pa.scalar("-", text)]
    return compute.call_function("binary_join_element_wise", parts)


def dtype_of(column: "pd.Series[Any]") -> str:
    """Type of a column by its name in pandas 3; for texts, pandas 2 says object."""
    import pandas as pd

    return "str" if pd.api.types.is_string_dtype(column) else str(column.dtype)


def read_table(folder: Path, name: str) -> "pd.DataFrame":
    """Table in a run folder.

    Raises:
        ValueError: The table cannot be read, or has other columns or types than a run writes.
    """
    try:
        # Half the time of pandas.read_parquet: a study has thousands of small files.
        with parquet_file(path := file_of(folder, name)) as file:
            check_parquet(path, file)
            has_rows = file.num_row_groups > 0  # without any row, pyarrow 18 reads nothing at all
            table = file.read(use_threads=False) if has_rows else file.schema_arrow.empty_table()
        frame = table.to_pandas(use_threads=False)
        found = {
            str(column): dtype_of(frame[column]) if str(dtype) == "object" else str(dtype)
            for column, dtype in frame.dtypes.items()
        }
    except Exception as error:  # damaged bytes can raise almost any error
        raise ValueError(" ".join(f"{type(error).__name__}: {error}".split())[:200]) from None
    scores = tuple(found)[2:-2] if name == "evaluations" else ()
    beside = {"evaluations": AT_EVALUATIONS, "updates": COLUMNS}.get(name, ())
    lacks = [column for column in MAY_LACK.get(name, ()) if column not in found]
    wanted = {**dtypes_of(name, scores), **dict.fromkeys(beside, "float64")}
    wanted = {column: dtype for column, dtype in wanted.items() if column not in lacks}
    if list(found) != list(wanted):
        raise ValueError(f"its columns are {', '.join(found) or 'none':.200}; must be {', '.join(wanted)}")
    for column, dtype in found.items():
        if dtype != wanted[column]:
            raise ValueError(f"{column} is of type {dtype}; must be {wanted[column]}")
        if dtype == "str" and table.column(column).null_count:
            raise ValueError(f"{column} has rows without a value")
    return frame


class Tables(Mapping[str, "pd.DataFrame"]):
    """The tables of a run, each made when it is first asked for.

    Args:
        make: A table's name -> the table, such as `read_table` of a folder.
    """

    def __init__(self, make: Callable[[str], "pd.DataFrame"]) -> None:
        self._make = make
        self._made: dict[str, pd.DataFrame] = {}

    @override
    def __getitem__(self, name: str) -> "pd.DataFrame":
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    @override
    def __len__(self) -> int:
        return len(TABLES)
