"""A figure's table on its page: the CSV that is kept, where it is small.

Columns before `seed` say what was run, those behind it what came out. Rows that differ in the seed only are
one row, their means with 95 % intervals.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from cosim.units import SUFFIXES
from scenarios.reproduce.claims import interval_of

MOST_ROWS = 12
BAR = r"\|"


def table(path: Path) -> Iterator[str]:
    """The lines of a Markdown table; none of more rows than a page bears."""
    read = pd.read_csv(path, keep_default_na=False, na_values="")  # "None" and "NA" are names of designs
    frame = read.dropna(axis="columns", how="all")
    keys = list(frame.columns[: frame.columns.get_loc("seed")])
    if len(frame.drop_duplicates(keys)) > MOST_ROWS:
        return
    shown = over_seeds(frame, keys)
    yield line(map(heading, shown.columns))
    yield "|" + "---|" * len(shown.columns)
    for cells in shown.itertuples(index=False, name=None):
        yield line(cells)


def over_seeds(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """A row for each design, in words."""
    groups = frame.drop(columns="seed").groupby(keys, sort=False, dropna=False, as_index=False)
    rows = groups.agg(lambda values: in_words(values.to_numpy(dtype=float)))
    return rows.assign(**{key: rows[key].map(cell) for key in keys})


def in_words(values: np.ndarray) -> str:
    """Mean and interval, or how many are finite where not all are."""
    if np.isnan(values).any():
        return ""
    if np.isinf(values).any():
        return f"{np.isfinite(values).sum()} of {len(values)} reached"
    found = interval_of(values)
    mean, has_width = cell(found.estimate), found.low < found.high
    return f"{mean} [{found.low:.3g}, {found.high:.3g}]" if has_width else mean


def line(cells: Iterable[str]) -> str:
    """A row of a Markdown table; bars within cells are no edges of them."""
    return f"| {' | '.join(text.replace('|', BAR) for text in cells)} |"


def cell(value: object) -> str:
    """A value, rounded; nothing where it is missing."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def heading(name: str) -> str:
    """A column's name in words, its unit in brackets."""
    unit = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
    words = name.removesuffix(unit).replace("_", " ")
    return f"{words} ({SUFFIXES[unit]})" if unit else words
