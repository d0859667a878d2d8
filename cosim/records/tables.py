"""Tables: the rows of a run by kind, in the order of their files.

Rows are in the order of the stretches of a run (`cosim.recording.kept_rows`: global rounds, if there are
rounds), in each by the number of the client, or of the node, and then by time; clients are numbered cell
by cell. So the same seed gives the same files, bit for bit, and rows are written before a run is over. For
another order, sort the table. A file is identified by its checksum, which `summary.json` keeps.
"""

import typing
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.names import by_number
from cosim.records.columns import Columns, Words, stacked
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

_DECLARED: dict[str, tuple[type[Row], str, tuple[str, ...]]] = {
    "spans": (Span, "end_s", ("node", "start_s", "end_s")),
    "transfers": (Transfer, "end_s", ("client", "start_s", "direction")),
    "fates": (Fate, "end_s", ("client", "start_s", "job")),
    "plans": (Allotment, "time_s", ("client", "time_s")),
    "rounds": (Round, "end_s", ("level", "node", "end_s")),
    "tallies": (Tally, "end_s", ("edge", "end_s")),
    "versions": (Version, "time_s", ("server", "version")),
    "updates": (Applied, "applied_s", ("server", "made_version", "client", "job")),
    "clients": (ClientTotals, "", ()),
    "stations": (Traffic, "end_s", ("station",)),
    "evaluations": (Evaluation, "time_s", ("version",)),
}
"""Table -> its rows, the column of their end, and the columns by which the rows of a stretch are ordered."""
TABLES = {name: kind for name, (kind, *_) in _DECLARED.items()}
ENDS = {kind: end for kind, end, _ in _DECLARED.values() if end}
GROWING = tuple(name for name in TABLES if name not in ("clients", "evaluations"))
"""Tables whose rows are written as the run goes; the others are made whenever a run is saved."""
SEEDS = 2**63
"""Number of seeds, from 0 on, that a table can hold, whose whole numbers have 64 bits."""
_DTYPES = {str: "str", float: "float64", int: "int64", bool: "bool"}
AT_EVALUATIONS = ("energy_j", "bits_per_client")
"""Further columns of the evaluations: totals of all clients up to then."""


def columns_of(name: str, rows: Sequence[Any], columns: Columns | None = None) -> Columns:
    """Columns of a table, in the order in which its rows were recorded.

    Args:
        rows: Rows that were kept one by one.
        columns: Rows that were kept by columns.
    """
    scores = tuple(rows[0].scores) if rows and name == "evaluations" else ()
    if name == "evaluations":
        rows = [(row.time_s, row.version, *row.scores.values()) for row in rows]
    dtypes = dtypes_of(name, scores)
    if columns is not None and not rows:
        return {column: columns[column] for column in dtypes}
    singles = zip(*rows, strict=True) if rows else [()] * len(dtypes)
    found: Columns = {
        column: Words.of(values) if dtype == "str" else np.array(values, dtype=dtype)
        for (column, dtype), values in zip(dtypes.items(), singles, strict=True)
    }
    return found if columns is None else stacked([found, columns])


def ordered(name: str, columns: Columns, stretches_s: Sequence[float]) -> Columns:
    """Columns of a table in its order.

    Args:
        stretches_s: Last instants of the stretches that the rows are in, rising.
    """
    kind, end, order_by = _DECLARED[name]
    if not len(ends_s := columns[end]):
        return columns
    side = "right" if kind is Allotment else "left"
    stretches = np.searchsorted(stretches_s, ends_s, side).astype(np.min_scalar_type(len(stretches_s)))
    keys = [stretches, *(columns[column] for column in order_by)]
    order = np.lexsort([_ranks(key) if isinstance(key, Words) else key for key in keys[::-1]])
    return {column: values[order] for column, values in columns.items()}


def _ranks(column: Words) -> NDArray[Any]:
    """Numbers that sort as nodes do by their numbers; small types sort several times as fast."""
    rank_of = {word: rank for rank, word in enumerate(sorted(dict.fromkeys(column.words), key=by_number))}
    smallest = np.min_scalar_type(len(rank_of))
    return np.array([rank_of[word] for word in column.words], dtype=smallest)[column.codes]


@cache
def dtypes_of(name: str, scores: tuple[str, ...]) -> Mapping[str, str]:
    """Type of each column of a table."""
    kinds = typing.get_type_hints(TABLES[name])
    if name == "evaluations":
        kinds = {"time_s": float, "version": int} | dict.fromkeys(scores, float)
    return MappingProxyType({column: _DTYPES[kind] for column, kind in kinds.items()})
