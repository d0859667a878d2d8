"""Pivots: tables with a row for each value of some fields, and a column for each value of others.

Usage::

    print(latex(pivoted(runs, ["time_to_0.7_s"], rows=["protocol.kind"], columns=["bandwidth_hz"])))

Validation: tests/analysis/tables/test_pivots.py.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from analysis.tables.cells import Cell
from analysis.tables.contents import Table, chosen_of, values_of
from analysis.tables.factors import columns_of, factors_in, field_of, names_of

_Place = tuple[tuple[str, ...], str]
"""Values of the fields of a row in words, and name of a column."""


class Pivot(NamedTuple):
    """Rows and columns of a pivot.

    Attributes:
        fields: Fields of the rows.
        head: Their heads.
        lines: Their values in words, each row once.
        names: Names of the columns.
        place_of: Place of each design.
    """

    fields: Sequence[str]
    head: Sequence[str]
    lines: Sequence[tuple[str, ...]]
    names: Sequence[str]
    place_of: Mapping[int, _Place]

    def design_in(self, line: tuple[str, ...], name: str) -> int | None:
        """Number of the design in a place; None if there is none."""
        return next((design for design, place in self.place_of.items() if place == (line, name)), None)


def pivoted(
    runs: pd.DataFrame, chosen: Collection[str], rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> Table:
    """The table of a pivot, with several metrics below each other; the best value of each column is marked.

    Args:
        chosen: Columns of metrics.
        rows: Fields of the rows, as `field_of` takes them; fields that are in neither become rows, too.
        columns: Fields of the columns. Empty means all fields that are not rows.

    Raises:
        ValueError: A field in which designs do not differ, that is given twice, or is the only one.
    """
    pivot, found = pivot_of(runs, rows, columns), list(chosen_of(runs, chosen))
    body: list[list[Cell]] = []
    for _, own, scale, label in found:
        cells: dict[_Place, Cell] = {}
        for name in pivot.names:
            column = {d: sample for d, sample in own.items() if pivot.place_of[d][1] == name}
            cells |= {pivot.place_of[d]: cell for d, cell in values_of(column, scale).items()}
        for place, line in enumerate(pivot.lines):
            leading = ["" if place else label] if len(found) > 1 else []
            body.append([*leading, *line, *(cells.get((line, name), "") for name in pivot.names)])
    lead = [""] if len(found) > 1 else []
    caption = found[0][-1] if len(found) == 1 else ""
    return Table([*lead, *pivot.head, *pivot.names], body, len(lead) + len(pivot.head), caption)


def pivot_frame(
    runs: pd.DataFrame, chosen: Collection[str], rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> pd.DataFrame:
    """The numbers of a pivot, unrounded and in the units of their columns.

    A row for each metric and row; for each column a value, its ends, and how many seeds reached a target.
    """
    pivot, lines = pivot_of(runs, rows, columns), []
    one_each = runs.drop_duplicates("design").set_index("design")
    for metric, own, _, _ in chosen_of(runs, chosen):
        for line in pivot.lines:
            designs = {name: pivot.design_in(line, name) for name in pivot.names}
            first = next(design for design in designs.values() if design is not None)
            row: dict[str, Any] = {
                "metric": metric.column,
                **dict(zip(pivot.fields, one_each.loc[first, list(pivot.fields)], strict=True)),
            }
            for name, design in designs.items():
                if design is not None and design in own:
                    value, note = own[design].value, own[design].note
                    numbers = {"value": value.estimate, "low": value.low, "high": value.high, "note": note}
                    row |= {f"{name}: {column}": number for column, number in numbers.items()}
            lines.append(row)
    return pd.DataFrame(lines)


def pivot_of(runs: pd.DataFrame, rows: Sequence[str], columns: Sequence[str]) -> Pivot:
    """Rows and columns of a table of runs; arguments and errors as for `pivoted`."""
    asked = [field_of(runs, word, "--rows") for word in rows]
    across = [field_of(runs, word, "--columns") for word in columns]
    if twice := [field for field in across if field in asked]:
        raise ValueError(
            f"--columns {columns[across.index(twice[0])]}: is in --rows, too. Use it in one of both."
        )
    rest = [factor for factor in factors_in(runs) if factor not in (*asked, *across)]
    down, across = ([*asked, *rest], across) if across else (asked, rest)
    if not across or not down:
        option, word = ("--rows", rows[0]) if rows else ("--columns", columns[0])
        raise ValueError(
            f"{option} {word}: designs differ in nothing else. Use cosim table without --rows and --columns."
        )
    (head, words_of), name_of = columns_of(runs, down), names_of(runs, across)
    place_of = {design: (tuple(words), name_of[design]) for design, words in words_of.items()}
    designs: dict[_Place, int] = {}
    for design, place in place_of.items():
        if place in designs:
            called = dict(zip(runs["design"], runs["name"], strict=True))
            raise ValueError(
                f"--rows and --columns: {called[designs[place]]} and {called[design]} have the same values "
                "of all fields. Use cosim table without --rows and --columns."
            )
        designs[place] = design
    lines, names = (list(dict.fromkeys(own)) for own in zip(*place_of.values(), strict=True))
    return Pivot(down, head, lines, names, place_of)
