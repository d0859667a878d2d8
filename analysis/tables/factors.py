"""Factors: what tells the designs of a table apart, as columns, and the fields that a pivot is asked for.

Usage::

    head, of_design = factors_of(runs)
    field_of(runs, "bandwidth_hz")  # "uplink.sharing.bandwidth_hz"
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.samples import diverged
from cosim.display.words import field_in_words, in_words, numbers_in_words, value_in_words

FOLDER, BASE = "study", "base"
"""Columns of the folders, and of the names of designs, that a table of runs may have besides fields."""
_SHOWN = {FOLDER: "folder", BASE: "design"}


def factors_in(runs: pd.DataFrame) -> list[str]:
    """Columns that tell designs apart: folders, designs by their names, and fields in which they differ."""
    named = [column for column in (FOLDER, BASE) if column in runs and runs[column].nunique() > 1]
    fields = [field for field in runs.attrs.get("fields", ()) if runs[field].map(json.dumps).nunique() > 1]
    return [*named, *fields]


def factors_of(runs: pd.DataFrame) -> tuple[list[str], dict[int, list[str]]]:
    """Factors in which designs differ, as heads of columns, and each design's values in words.

    If any run has diverged, a last column has the number of diverged runs of each design.
    """
    one_each = _one_each(runs)
    columns = dict(_column(runs, one_each, factor) for factor in factors_in(runs))
    if not columns or len(set(zip(*columns.values(), strict=True))) < len(one_each):
        columns = {"design": list(map(str, one_each["name"])), **columns}
    columns |= _diverged(runs, one_each)
    own = zip(*columns.values(), strict=True)
    return list(columns), {int(d): list(cells) for d, cells in zip(one_each.index, own, strict=True)}


def columns_of(runs: pd.DataFrame, factors: Sequence[str]) -> tuple[list[str], dict[int, list[str]]]:
    """Some factors as heads of columns, and each design's values in words."""
    one_each = _one_each(runs)
    columns = dict(_column(runs, one_each, factor) for factor in factors)
    rows: dict[int, list[str]] = {int(d): [] for d in one_each.index}
    for cells in columns.values():
        for row, cell in zip(rows.values(), cells, strict=True):
            row.append(cell)
    return list(columns), rows


def names_of(runs: pd.DataFrame, factors: Sequence[str]) -> dict[int, str]:
    """Each design by some factors, such as 5 MHz."""
    one_each, parts = _one_each(runs), runs.attrs.get("parts", {})
    words: dict[int, str] = {}
    for design, own in one_each.iterrows():
        said = [
            str(own[f]) if f in _SHOWN else in_words(f, _plain(own[f]), factors, parts)
            for f in factors
            if not _is_missing(own[f])
        ]
        words[int(str(design))] = ", ".join(said)
    return words


def field_of(runs: pd.DataFrame, word: str, option: str) -> str:
    """Factor that a user means: design, folder, the path of a field, or the end of one.

    Args:
        option: Where the user wrote it, for the message.

    Raises:
        ValueError: No factor of the designs, or several.
    """
    known = factors_in(runs)
    called = {_SHOWN.get(factor, factor): factor for factor in known}
    found = [factor for said, factor in called.items() if said == word or said.endswith(f".{word}")]
    if word in called or len(found) == 1:
        return called.get(word) or found[0]
    rule = f"may be any of {', '.join(found)}" if found else "is nothing in which the designs differ"
    listed = ", ".join(called) or "none"
    raise ValueError(f"{option} {word}: {rule}. Use one of: {listed}.")


def _one_each(runs: pd.DataFrame) -> pd.DataFrame:
    return runs.drop_duplicates("design").sort_values("design").set_index("design")


def _column(runs: pd.DataFrame, one_each: pd.DataFrame, factor: str) -> tuple[str, list[str]]:
    """The head of a factor's column, and its cells."""
    values = list(one_each[factor])
    if factor in _SHOWN:
        return _SHOWN[factor], list(map(str, values))
    fields, parts = factors_in(runs), runs.attrs.get("parts", {})
    return _factor(factor, values, fields, parts)


def _diverged(runs: pd.DataFrame, one_each: pd.DataFrame) -> dict[str, list[str]]:
    """In how many runs of each design training has diverged; nothing where it has in none."""
    num_diverged, num_runs = num_diverged_of(runs), runs.groupby("design").size()
    if not num_diverged.any():
        return {}
    return {"diverged": [f"{num_diverged[design]} of {num_runs[design]}" for design in one_each.index]}


def num_diverged_of(runs: pd.DataFrame) -> pd.Series:
    """In how many runs of each design training has diverged."""
    return diverged(runs).groupby(runs["design"]).sum()


def _factor(
    field: str, values: Sequence[Any], fields: Collection[str], parts: Mapping[str, str]
) -> tuple[str, list[str]]:
    known = [value for value in values if not _is_missing(value)]
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in known):
        cells = ["" if _is_missing(value) else value_in_words(field, value) for value in values]
        return field_in_words(field, fields, parts), cells
    column = numbers_in_words(field, known, fields, parts)
    return column.head, ["" if _is_missing(value) else column.shown(value) for value in values]


def _plain(value: Any) -> Any:
    """A value of pandas as a plain one."""
    return value.item() if hasattr(value, "item") else value


def _is_missing(value: Any) -> bool:
    """True if a design of another study has no such field."""
    return isinstance(value, float) and math.isnan(value)
