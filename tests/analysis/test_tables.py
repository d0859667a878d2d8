"""Tables to paste: what a reader of LaTeX, Markdown and CSV makes of them is what was meant."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.intervals.statistics import Interval
from analysis.metrics import metrics
from analysis.studies import compared
from analysis.tables import Table, by_design, by_metric, factors_of, frame, interval_in_words, latex, markdown

EXACTLY = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
"""Converter that reads decimals like Python: pandas does so since version 3.1, or where it is told."""
CELL = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.just(" "), max_size=12)
TABLE = st.integers(1, 3).flatmap(
    lambda width: st.builds(
        Table,
        st.lists(CELL, min_size=width, max_size=width),
        st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=3),
        st.integers(0, width),
    )
)
MEANS = {
    **{rf"\{sign}": sign for sign in "&%$#_{}"},
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textquotedbl{}": '"',
    r"\textmu{}": "µ",
    r"\textsuperscript{2}": "²",
    "{[}": "[",
    "{]}": "]",
}
"""Output of LaTeX for its commands, from its manuals."""
SETS = re.compile("|".join(map(re.escape, sorted(MEANS, key=len, reverse=True))) + r"|[^\\&{}\[\]~^$#%_]")


def set_by_latex(cell: str) -> str:
    """Text that is printed; everything must be either plain or a command that is known."""
    found, place = [], 0
    while place < len(cell):
        sign = SETS.match(cell, place)
        assert sign, cell[place:]
        found.append(MEANS.get(sign[0], sign[0]))
        place = sign.end()
    return "".join(found)


def plain(cells: list[str]) -> list[str]:
    return [" ".join(cell.split()) for cell in cells]


@given(TABLE)
def test_latex_is_read_back(table):
    lines = latex(table).splitlines()
    columns = "l" * table.num_factors + "r" * (len(table.head) - table.num_factors)
    assert lines[0] == rf"\begin{{tabular}}{{{columns}}}"
    assert [lines[1], lines[3], *lines[-2:]] == [r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"]
    for line, cells in zip([lines[2], *lines[4:-2]], [table.head, *table.rows], strict=True):
        assert line.endswith(r" \\")
        found = re.split(r"(?<!\\)&", line.removesuffix(r" \\"))
        assert [set_by_latex(cell).strip() for cell in found] == plain(cells)


@given(TABLE)
def test_markdown_is_read_back(table):
    lines = markdown(table).splitlines()
    assert set(lines[1]) <= set("|- ")
    for line, cells in zip([lines[0], *lines[2:]], [table.head, *table.rows], strict=True):
        assert _cells(line) == plain(cells)


def _cells(line: str) -> list[str]:
    """Cells between bars that no backslash takes back, without backslashes."""
    found, cell, signs = [], "", iter(line)
    for sign in signs:
        if sign == "\\":
            cell += next(signs)
        elif sign == "|":
            found.append(cell)
            cell = ""
        else:
            cell += sign
    return [" ".join(cell.split()) for cell in found[1:]]


def runs() -> pd.DataFrame:
    """Two bandwidths of two systems, two seeds each."""
    rows = [
        {
            "design": number,
            "name": f"{base}, {hz / 1e6:g} MHz",
            "base": base,
            "seed": seed,
            "x.bandwidth_hz": hz,
        }
        for number, (base, hz) in enumerate([("A", 5e5), ("A", 2e6), ("B", 5e5), ("B", 2e6)])
        for seed in (1, 2)
    ]
    table = pd.DataFrame(rows).assign(
        status="complete", num_updates=10.0, num_dropped=range(8), last_version=1.0
    )
    table = table.assign(time_s=0.01 * np.arange(1.0, 9.0) ** 2, energy_j=2e3, bits_per_client=5e6)
    table.attrs = {"measures": {}, "targets": [], "fields": ["x.bandwidth_hz"]}
    return table


def test_factors_are_columns_with_their_units_in_the_head():
    head, rows = factors_of(runs())
    assert head == ["design", "bandwidth (MHz)"]
    assert rows == {0: ["A", "0.5"], 1: ["A", "2"], 2: ["B", "0.5"], 3: ["B", "2"]}
    one = runs().query("base == 'A' and seed == 1").assign(**{"x.bandwidth_hz": 5e5})
    one.attrs = runs().attrs
    assert factors_of(one)[0] == ["design"]


def test_factors_that_span_too_much_for_one_unit_each_have_their_own():
    found = runs()
    found.loc[found["base"] == "A", "x.bandwidth_hz"] = [1.0, 1.0, 1e12, 1e12]
    head, cells = factors_of(found)
    assert head == ["design", "bandwidth"]
    assert [own[-1] for own in cells.values()] == ["1 Hz", "1 THz", "500 kHz", "2 MHz"]


def test_cells_are_the_numbers_of_compared_in_the_unit_of_the_head():
    found = by_design(runs(), ["time_s", "energy_j", "dropped_share"])
    assert found.head[2:] == ["simulated time (ms)", "energy (kJ)", "dropped updates (%)"]
    known = {(row.design, row.metric): row for row in compared(runs())}
    shown = (("time_s", 1e3), ("energy_j", 1e-3), ("dropped_share", 100.0))
    for design, row in enumerate(found.rows):
        for cell, (metric, scale) in zip(row[2:], shown, strict=True):
            value = known[design, metric].value
            estimate, *ends = (float(number) for number in re.findall(r"-?[\d.]+(?:e[+-]\d+)?", cell))
            wanted = [scale * end for end in (value.low, value.high)] if value.low < value.high else []
            assert estimate == pytest.approx(scale * value.estimate, rel=1e-3)
            assert ends == pytest.approx(wanted, rel=1e-3)
    differences = by_design(runs(), ["time_s"], reference=1)
    assert differences.rows[1][2] == ""
    assert differences.rows[0][2] == interval_in_words(known_difference(), 1e3)


def known_difference() -> Interval:
    """Of design 0 to design 1."""
    (row,) = (row for row in compared(runs(), 1) if (row.design, row.metric) == (0, "time_s"))
    assert row.difference is not None
    return row.difference


def test_csv_keeps_every_number():
    read = pd.read_csv(io.StringIO(frame(runs(), metrics(runs()), 0).to_csv(index=False)), **EXACTLY)
    assert list(read["x.bandwidth_hz"].unique()) == [5e5, 2e6]
    for row in compared(runs()):
        (own,) = read[(read["design"] == row.design) & (read["metric"] == row.metric)].itertuples()
        assert (own.value, own.low, own.high) == (row.value.estimate, row.value.low, row.value.high)
        if row.difference is not None:
            assert own.difference == row.difference.estimate


def test_by_metric_says_which_design_the_differences_are_to():
    found = by_metric(runs(), ["time_s"], reference=2)
    assert found.head[-1] == "difference to B, 0.5 MHz, seed by seed"
    assert [row[-1] == "-" for row in found.rows] == [False, False, True, False]
    assert [row[0] for row in found.rows] == ["simulated time (ms)", "", "", ""]


def test_a_column_of_a_field_is_called_by_the_class_of_its_part():
    field = "training.waiting.deadline_s"
    runs = pd.DataFrame({"design": [0, 1], "name": ["a", "b"], field: [0.04, 0.06]})
    runs.attrs = {"fields": [field], "parts": {"training.waiting": "Deadline"}}
    assert factors_of(runs) == (["deadline (ms)"], {0: ["40"], 1: ["60"]})
