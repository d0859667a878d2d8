"""Tables: the rows of a run by kind, and the Parquet files that hold them.

Rows are sorted by time and node name, so that the same seed gives the same files, bit for bit. A file is
known again by its checksum, which `summary.json` keeps.
"""

import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cosim.job_costs import COLUMNS
from cosim.names import by_number
from cosim.records import Allotment, Applied, Evaluation, Fate, Round, Span, Transfer

if TYPE_CHECKING:
    import pandas as pd

TABLES = {
    "spans": Span,
    "transfers": Transfer,
    "fates": Fate,
    "plans": Allotment,
    "rounds": Round,
    "updates": Applied,
    "evaluations": Evaluation,
}
_DTYPES = {str: "str", float: "float64", int: "int64", bool: "bool"}
_ORDER = {
    "spans": ["start_s", "node", "end_s"],
    "transfers": ["start_s", "client"],
    "fates": ["start_s", "client"],
    "plans": ["time_s", "client"],
    "rounds": ["end_s", "level", "node"],
    "updates": ["applied_s", "server", "made_version", "client", "job"],
    "evaluations": ["version"],
}

AT_EVALUATIONS = ("energy_j", "bits_per_client")
"""Columns of the evaluations besides: totals of all clients up to then."""


def file_of(folder: Path, name: str) -> Path:
    """Where a table lies."""
    return folder / f"{name}.parquet"


def table_of(name: str, rows: list[Any], columns: Sequence[dict[str, Any]] = ()) -> "pd.DataFrame":
    """The table of a trace's rows, those that were kept one by one and those by columns."""
    import pandas as pd  # not before there is a table

    scores = list(rows[0].scores) if rows and name == "evaluations" else []
    if name == "evaluations":
        rows = [(row.time_s, row.version, *row.scores.values()) for row in rows]
    dtypes = _dtypes(name, scores)
    frame = pd.DataFrame(rows, columns=list(dtypes))
    if columns:
        frame = pd.concat([frame, _joined(columns, dtypes)] if rows else [_joined(columns, dtypes)])
    frame = frame.astype(dtypes)
    return frame.sort_values(_ORDER[name], kind="stable", ignore_index=True, key=_in_order)


def _joined(columns: Sequence[dict[str, Any]], dtypes: Mapping[str, str]) -> "pd.DataFrame":
    """Rows that were kept many at a time, in the order of the table's columns."""
    import pandas as pd

    lengths = [max(len(v) for v in of.values() if isinstance(v, np.ndarray)) for of in columns]
    joined = {}
    for name, dtype in dtypes.items():
        if all(isinstance(of[name], np.ndarray) for of in columns):
            joined[name] = np.concatenate([of[name] for of in columns])
        else:
            shared = np.array([of[name] for of in columns], dtype=object if dtype == "str" else dtype)
            joined[name] = np.repeat(shared, lengths)
    return pd.DataFrame(joined)


def read_table(folder: Path, name: str) -> "pd.DataFrame":
    """The table in a run folder.

    Raises:
        ValueError: It cannot be read, or has other columns or types than a run writes, in a few words.
    """
    import pandas as pd

    try:
        frame = pd.read_parquet(file_of(folder, name))
        found = {str(column): str(dtype) for column, dtype in frame.dtypes.items()}
    except Exception as error:  # there is hardly one that damaged bytes cannot raise
        raise ValueError(" ".join(f"{type(error).__name__}: {error}".split())[:200]) from None
    scores = list(found)[2:-2] if name == "evaluations" else []
    wanted = _dtypes(name, scores)
    beside = {"evaluations": AT_EVALUATIONS, "updates": COLUMNS}.get(name, ())
    wanted |= dict.fromkeys(beside, "float64")
    if list(found) != list(wanted):
        raise ValueError(f"its columns are {', '.join(found) or 'none':.200}; must be {', '.join(wanted)}")
    for column, dtype in found.items():
        if dtype != wanted[column]:
            raise ValueError(f"{column} is of type {dtype}; must be {wanted[column]}")
        if dtype == "str" and frame[column].isna().any():
            raise ValueError(f"{column} has rows without a value")
    return frame


def _dtypes(name: str, scores: list[str]) -> dict[str, str]:
    """Column -> type."""
    kinds = typing.get_type_hints(TABLES[name])
    if name == "evaluations":
        kinds = {"time_s": float, "version": int} | dict.fromkeys(scores, float)
    return {column: _DTYPES[kind] for column, kind in kinds.items()}


def _in_order(column: "pd.Series") -> "pd.Series":
    """Numbers that sort as the column does, nodes by their numbers."""
    if column.dtype.kind in "iufb":
        return column
    ranks = {name: rank for rank, name in enumerate(sorted(column.unique(), key=by_number))}
    return column.map(ranks)
