"""Tables of designs, to look at and to paste: factors as columns, means with intervals, units in the head.

Numbers have four digits. In a table to look at, units take the prefix of the largest number of their column,
factors that span too much for one each have their own, and shares are per cent; in `frame` all is as in
files.

Scope and limitations: LaTeX needs the package booktabs, and text encoded in UTF-8.

Usage::

    runs = load("studies/bandwidth")
    print(latex(by_design(runs, ["time_s", "energy_j"])))

Validation: tests/analysis/test_tables.py.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from analysis.intervals.statistics import Interval
from analysis.metrics import Metric, metrics
from analysis.samples import Sample, diverged
from analysis.studies import Comparison, compared
from cosim.configuration.words import field_in_words, numbers_in_words, value_in_words
from cosim.units import prefixed


class Table(NamedTuple):
    """Head and rows in words; the first `num_factors` columns say which design it is."""

    head: list[str]
    rows: list[list[str]]
    num_factors: int


def by_design(runs: pd.DataFrame, chosen: Collection[str], reference: int | None = None) -> Table:
    """A row for each design, a column for each metric.

    Args:
        chosen: Columns of metrics; columns that no design has are left out.
        reference: Number of a design, for differences to it, taken seed by seed. None means plain means.
    """
    known, found = metrics(runs), compared(runs, reference or 0)
    cells: dict[tuple[int, str], str] = {}
    head: list[str] = []
    for metric in (known[column] for column in chosen):
        own = [row for row in found if row.metric == metric.column]
        scale, label = scaled(metric, [row.value for row in own])
        if reference is None:
            words = {row.design: value_in_cell(row.sample, scale) for row in own}
        else:
            words = {row.design: difference_in_cell(row, scale) for row in own}
        if any(words.values()):
            head.append(label)
            cells |= {(design, label): said for design, said in words.items()}
    factors, of_design = factors_of(runs)
    rows = [[*own, *(cells.get((d, name), "") for name in head)] for d, own in of_design.items()]
    return Table([*factors, *head], rows, len(factors))


def by_metric(runs: pd.DataFrame, chosen: Collection[str], reference: int) -> Table:
    """A row for each metric and design, beside the difference to a design, seed by seed."""
    known, found = metrics(runs), compared(runs, reference)
    factors, of_design = factors_of(runs)
    rows = []
    for metric in (known[column] for column in chosen):
        own = [row for row in found if row.metric == metric.column]
        scale, label = scaled(metric, [row.value for row in own])
        for row in own:
            name = label if row is own[0] else ""
            against = difference_in_cell(row, scale) or "-"
            against = f"{against}; {row.pairs}" if row.pairs else against
            rows.append([name, *of_design[row.design], value_in_cell(row.sample, scale), against])
    (name,) = runs.loc[runs["design"] == reference, "name"].unique()
    against = f"difference to {name}, seed by seed"
    return Table(["", *factors, "mean", against], rows, len(factors))


def frame(runs: pd.DataFrame, chosen: Collection[str], reference: int) -> pd.DataFrame:
    """The numbers of all metrics, a row for each design and metric, in the units of their columns."""
    fields = [*_folders(runs), *_bases(runs), *_fields(runs)]
    factors = runs.drop_duplicates("design").set_index("design")[fields]
    rows, num_diverged = [], _num_diverged(runs)
    for row in compared(runs, reference):
        if row.metric not in chosen:
            continue
        own = {"design": row.design, "name": row.name, **factors.loc[row.design].to_dict()}
        own |= {"metric": row.metric, "statistic": row.statistic, "num_runs": row.num_runs}
        own |= {"num_diverged": int(num_diverged[row.design]), "note": row.note}
        own |= {"value": row.value.estimate, "low": row.value.low, "high": row.value.high}
        if row.sample.missed:
            own["horizon"] = row.sample.horizon
        if (median := row.sample.median) is not None:
            own |= {"median": median.estimate, "median_low": median.low, "median_high": median.high}
        if (found := row.difference) is not None:
            own |= {"difference": found.estimate, "difference_low": found.low, "difference_high": found.high}
            if math.isfinite(horizon := row.horizon):
                own["difference_horizon"] = horizon
        rows.append(own | (row.pairs._asdict() if row.pairs else {}))
    return pd.DataFrame(rows)


def factors_of(runs: pd.DataFrame) -> tuple[list[str], dict[int, list[str]]]:
    """Factors that tell designs apart, as heads of columns, and each design's values in words.

    Where training has diverged in any run, a last column says in how many of a design's.
    """
    one_each = runs.drop_duplicates("design").sort_values("design").set_index("design")
    columns: dict[str, list[str]] = {}
    for column in (*_folders(runs), *_bases(runs)):
        columns["folder" if column == "study" else "design"] = list(map(str, one_each[column]))
    fields = _fields(runs)
    for field in fields:
        head, cells = _factor(field, list(one_each[field]), fields, runs.attrs.get("parts", {}))
        columns[head] = cells
    if not columns or len(set(zip(*columns.values(), strict=True))) < len(one_each):
        columns = {"design": list(map(str, one_each["name"])), **columns}
    if (num_diverged := _num_diverged(runs)).any():
        num_runs = runs.groupby("design").size()
        columns["diverged"] = [f"{num_diverged[d]} of {num_runs[d]}" for d in one_each.index]
    own = zip(*columns.values(), strict=True)
    return list(columns), {int(d): list(cells) for d, cells in zip(one_each.index, own, strict=True)}


def scaled(metric: Metric, values: Sequence[Interval]) -> tuple[float, str]:
    """Factor that a metric's numbers are multiplied by to be shown, and its head with its unit."""
    measure = metric.measure
    if measure.is_share or not metric.unit:
        return measure.factor, measure.label
    largest = max((abs(v.estimate) for v in values if math.isfinite(v.estimate)), default=0.0)
    scale, unit = prefixed(largest, metric.unit)
    return 1.0 / scale, f"{measure.words.removesuffix(f'({metric.unit})').strip()} ({unit})"


def value_in_cell(sample: Sample, scale: float = 1.0) -> str:
    """A mean with its interval, and where a run missed up to where it goes, and how many got there."""
    value = interval_in_words(sample.value, scale)
    if math.isnan(sample.value.estimate):
        return value
    up_to = sample.statistic.removeprefix("mean") if sample.missed else ""
    return f"{value}{up_to}, {sample.note}" if sample.note else value


def difference_in_cell(row: Comparison, scale: float = 1.0) -> str:
    """A difference to the reference with its interval, and up to where it goes; empty where there is none."""
    if (found := row.difference) is None:
        return ""
    up_to = f" up to {row.sample.metric.amount(row.horizon)}" if math.isfinite(row.horizon) else ""
    return f"{interval_in_words(found, scale)}{up_to}"


def interval_in_words(interval: Interval, scale: float = 1.0) -> str:
    """Estimate and ends; the estimate alone where they are the same; why there is none."""
    if math.isnan(interval.estimate):
        return interval.remark
    words = f"{scale * interval.estimate:.4g}"
    if interval.low == interval.high:
        return words
    return f"{words} [{scale * interval.low:.4g}, {scale * interval.high:.4g}]"


def markdown(table: Table) -> str:
    """For a page in Markdown."""
    lines = [table.head, ["---"] * len(table.head), *table.rows]
    escaped = ([cell if cell == "---" else _escaped(cell, _MARKDOWN) for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + "\n"


def latex(table: Table) -> str:
    """For a paper: a tabular in the style of booktabs."""
    columns = "l" * table.num_factors + "r" * (len(table.head) - table.num_factors)
    head, *rows = (" & ".join(_escaped(cell, _LATEX) for cell in line) for line in (table.head, *table.rows))
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *(rf"{row} \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


_MARKDOWN = {character: f"\\{character}" for character in "\\|*_`<>"}
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",  # else an option, where a line begins with it
    "]": "{]}",
    "µ": r"\textmu{}",
    "²": r"\textsuperscript{2}",
}


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(character, character) for character in " ".join(text.split()))


def _num_diverged(runs: pd.DataFrame) -> pd.Series:
    """In how many runs of each design training has diverged."""
    return diverged(runs).groupby(runs["design"]).sum()


def _folders(runs: pd.DataFrame) -> list[str]:
    return ["study"] if "study" in runs and runs["study"].nunique() > 1 else []


def _bases(runs: pd.DataFrame) -> list[str]:
    return ["base"] if "base" in runs and runs["base"].nunique() > 1 else []


def _fields(runs: pd.DataFrame) -> list[str]:
    """The fields that designs differ in."""
    return [field for field in runs.attrs.get("fields", ()) if runs[field].map(json.dumps).nunique() > 1]


def _factor(
    field: str, values: Sequence[Any], fields: Collection[str], parts: Mapping[str, str]
) -> tuple[str, list[str]]:
    """The head of a field's column, and its cells."""
    known = [value for value in values if not _is_missing(value)]
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in known):
        cells = ["" if _is_missing(value) else value_in_words(field, value) for value in values]
        return field_in_words(field, fields, parts), cells
    column = numbers_in_words(field, known, fields, parts)
    return column.head, ["" if _is_missing(value) else column.shown(value) for value in values]


def _is_missing(value: Any) -> bool:
    """True if a design of another study has no such field."""
    return isinstance(value, float) and math.isnan(value)
