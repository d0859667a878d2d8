"""Tables: the rows of a run by kind, and the Parquet files that hold them.

Rows are in the order of the stretches of a run (`cosim.recording.kept_rows`: global rounds, if there are
rounds), in each by the number of the client, or of the node, and then by time; clients are numbered cell
by cell. So the same seed gives the same files, bit for bit, and rows are written before a run is over. For
another order, sort the table. A file is identified by its checksum, which `summary.json` keeps.
"""

import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.files.parquet_files import parquet_file
from cosim.files.room import check_parquet
from cosim.names import ClientNames, by_number
from cosim.records.columns import ENDS, Columns, Words, stretch_of
from cosim.records.job_costs import COLUMNS
from cosim.records.rows import (
    Allotment,
    Applied,
    ClientTotals,
    Evaluation,
    Fate,
    Round,
    Row,
    Span,
    Tally,
    Traffic,
    Transfer,
    Version,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TABLES: dict[str, type[Row]] = {
    "spans": Span,
    "transfers": Transfer,
    "fates": Fate,
    "plans": Allotment,
    "rounds": Round,
    "tallies": Tally,
    "versions": Version,
    "updates": Applied,
    "clients": ClientTotals,
    "stations": Traffic,
    "evaluations": Evaluation,
}
GROWING = tuple(name for name in TABLES if name not in ("clients", "evaluations"))
"""Tables whose rows are written as the run goes; the others are made whenever a run is saved."""
SEEDS = 2**63
"""Number of seeds, from 0 on, that a table can hold, whose whole numbers have 64 bits."""
_DTYPES = {str: "str", float: "float64", int: "int64", bool: "bool"}
_ORDER = {
    "spans": ["node", "start_s", "end_s"],
    "transfers": ["client", "start_s", "direction"],
    "fates": ["client", "start_s", "job"],
    "plans": ["client", "time_s"],
    "rounds": ["level", "node", "end_s"],
    "tallies": ["edge", "end_s"],
    "versions": ["server", "version"],
    "updates": ["server", "made_version", "client", "job"],
    "stations": ["station"],
    "evaluations": ["version"],
}
"""Columns by which the rows of a stretch are ordered."""

AT_EVALUATIONS = ("energy_j", "bits_per_client")
"""Further columns of the evaluations: totals of all clients up to then."""

MAY_LACK = {"clients": ("kind", "snr_db", "num_samples", "num_labels", "accuracy")}
"""Columns that a table has only where a run has their quantity."""


def file_of(folder: Path, name: str) -> Path:
    """Path of a table."""
    return folder / f"{name}.parquet"


def columns_of(
    name: str, rows: Sequence[Any], columns: Columns | None = None, stretches_s: Sequence[float] = ()
) -> Columns:
    """Columns of a table of a trace's rows, both kept one by one and kept by columns.

    Args:
        stretches_s: Last instants of the stretches that the rows are in, rising.
    """
    kind, found = TABLES[name], unordered(name, rows, columns)
    ends_s = found[ENDS[kind]]
    if not len(ends_s):
        return found
    keys = [stretch_of(kind, ends_s, stretches_s), *(found[column] for column in _ORDER[name])]
    order = np.lexsort([_ranks(key) if isinstance(key, Words) else key for key in keys[::-1]])
    return {column: values[order] for column, values in found.items()}


def unordered(name: str, rows: Sequence[Any], columns: Columns | None = None) -> Columns:
    """Columns of a table as from `columns_of`, in the order in which the rows were recorded."""
    scores = tuple(rows[0].scores) if rows and name == "evaluations" else ()
    if name == "evaluations":
        rows = [(row.time_s, row.version, *row.scores.values()) for row in rows]
    dtypes = _dtypes(name, scores)
    singles = dict(zip(dtypes, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(dtypes, ())
    found: Columns = {}
    for column, dtype in dtypes.items():
        many = None if columns is None else columns[column]
        found[column] = (_words_of if dtype == "str" else _numbers_of)(singles[column], many, dtype)
    return found


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


def _numbers_of(singles: Sequence[Any], many: NDArray[Any] | None, dtype: str) -> NDArray[Any]:
    """Values kept one by one, and values kept by columns."""
    one_by_one = np.array(singles, dtype=dtype)
    return one_by_one if many is None else np.concatenate([one_by_one, np.asarray(many, dtype=dtype)])


def _words_of(singles: Sequence[str], many: Words | None, dtype: str) -> Words:
    """Words kept one by one, and words kept by columns."""
    if many is not None and not singles:
        return many
    place_of = {word: place for place, word in enumerate(dict.fromkeys(singles))}
    codes = np.array([place_of[word] for word in singles], dtype=np.int64)
    if many is None:
        return Words(list(place_of), codes)
    return Words([*place_of, *many.words], np.concatenate([codes, len(place_of) + many.codes]))


def _ranks(column: Words) -> NDArray[np.int64]:
    """Numbers that sort as nodes do by their numbers."""
    rank_of = {word: rank for rank, word in enumerate(sorted(dict.fromkeys(column.words), key=by_number))}
    return np.array([rank_of[word] for word in column.words], dtype=np.int64)[column.codes]


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
    wanted = {**_dtypes(name, scores), **dict.fromkeys(beside, "float64")}
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


@cache
def _dtypes(name: str, scores: tuple[str, ...]) -> Mapping[str, str]:
    """Column -> type."""
    kinds = typing.get_type_hints(TABLES[name])
    if name == "evaluations":
        kinds = {"time_s": float, "version": int} | dict.fromkeys(scores, float)
    return MappingProxyType({column: _DTYPES[kind] for column, kind in kinds.items()})
