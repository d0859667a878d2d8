"""Markdown and HTML: what a reader makes of them is what was meant."""

import xml.etree.ElementTree as ET

from hypothesis import given
from test_latex import tables

from analysis.tables.cells import Number, text_of
from analysis.tables.contents import Table
from analysis.tables.markdown import markdown
from analysis.tables.page import page_table


def plain(cells: list) -> list[str]:
    return [" ".join(text_of(cell).split()) for cell in cells]


@given(tables())
def test_markdown_is_read_back(table):
    lines = markdown(table._replace(caption="")).splitlines()
    assert set(lines[1]) <= set("|- ")
    for line, cells in zip([lines[0], *lines[2:]], [table.head, *table.rows], strict=True):
        unmarked = [cell._replace(is_best=False) if isinstance(cell, Number) else cell for cell in cells]
        bold = line.replace("**", "") if unmarked != cells else line
        assert _cells(bold) == plain(unmarked)


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


@given(tables())
def test_html_is_read_back(table):
    found = ET.fromstring(page_table(table))
    rows = [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in found.iter("tr")]
    assert rows == [plain(table.head), *map(plain, table.rows)]
    assert "".join(found.findtext("caption") or "") == table.caption


def test_the_best_are_bold():
    table = Table(
        ["a", "b"], [["x", Number("3", ("2", "4"), "", is_best=True)], ["y", Number("5", ("4", "6"))]], 1
    )
    assert "| x | **3** [2, 4] |" in markdown(table)
    assert "<td><b>3</b> [2, 4]</td>" in page_table(table)
