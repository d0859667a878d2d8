"""LaTeX that a paper takes: read back by a parser everywhere, and by pdflatex where it is installed."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex_tables import read

from analysis.tables.cells import Number
from analysis.tables.contents import Table
from analysis.tables.latex import PREAMBLE, label_of, latex

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.just(" "), max_size=12)
DECIMALS = st.decimals(-1000, 1000, places=2).map(str)
NUMBER = st.builds(
    Number,
    DECIMALS,
    st.none() | st.tuples(DECIMALS, DECIMALS),
    st.sampled_from(["", "4 of 5"]),
    st.booleans(),
)


@st.composite
def tables(draw) -> Table:
    num_factors, num_numbers = draw(st.integers(0, 2)), draw(st.integers(0, 3))
    width = max(1, num_factors + num_numbers)
    heads = draw(st.lists(WORDS.map(lambda text: text.replace("{", "")), min_size=width, max_size=width))
    rows = draw(
        st.lists(
            st.tuples(
                *[WORDS if place < num_factors else NUMBER | st.just("") for place in range(width)]
            ).map(list),
            max_size=4,
        )
    )
    return Table(
        heads, rows, num_factors, caption=draw(st.sampled_from(["", "Time of 5 seeds & more."])), label="a"
    )


@given(tables())
def test_what_is_printed_is_what_was_meant(table):
    found = read(latex(table))
    assert [head for head, _ in found.head] == [" ".join(head.split()) for head in table.head]
    assert found.caption == table.caption
    for row, cells in zip(found.rows, table.rows, strict=True):
        printed = [cell for cell, _ in row if cell]
        wanted = [
            part
            for cell in cells
            for part in ((cell.value, cell.beside) if isinstance(cell, Number) else (" ".join(cell.split()),))
            if part
        ]
        assert printed == wanted


def test_best_numbers_are_bold_and_aligned():
    table = Table(
        ["design", "time (s)"],
        [["A", Number("9.5", ("9.1", "9.9"), "", True)], ["B", Number("12.3", ("12.0", "12.6"))]],
        1,
    )
    found = read(latex(table))
    assert found.columns == ["l", ("", 2, 1), "l"]
    assert found.bold == {(0, 1)}
    assert found.rows[1] == [("B", 1), ("12.3", 1), ("[12.0, 12.6]", 1)]


def test_long_heads_have_two_lines():
    table = Table(["design", "sent per client to 0.7 (Mbit)"], [["A", Number("9.5")]], 1)
    assert r"\shortstack{sent per client\\to 0.7 (Mbit)}" in latex(table)


@pytest.mark.parametrize(
    ("name", "label"), [("study 1_a", "tab:study-1-a"), ("tab:x", "tab:x"), ("ü", "tab:study")]
)
def test_labels_are_plain(name, label):
    assert label_of(name) == label


DOCUMENT = rf"""\documentclass[twocolumn]{{article}}
\usepackage[T1]{{fontenc}}
\usepackage{{textcomp}}
{PREAMBLE}
\begin{{document}}
%s
See Table~\ref{{tab:a}}.
\end{{document}}
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_pdflatex_takes_it(tmp_path):
    signs = 'a_b & 50 % #1 $x {y} ~ ^ \\ <z> | " [w]'
    rows = [
        [signs, Number("-9.5", ("-9.9", "-9.1"), "4 of 5", True), Number("3"), ""],
        ["B", "none by 584 ms", Number("12.25"), "5 of 5"],
    ]
    table = Table(
        ["design", "difference of time (ms)", "energy to 0.7 (J)", "reached"],
        rows,
        1,
        caption=f"All: {signs}",
        label="a",
    )
    (tmp_path / "a.tex").write_text(DOCUMENT % latex(table))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout
