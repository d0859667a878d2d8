"""HTML: a self-contained table for a web page."""

import html

from analysis.tables.cells import Cell, Number, text_of
from analysis.tables.contents import Table


def page_table(table: Table) -> str:
    """The table as an HTML element; the best numbers are bold."""
    caption = [f"<caption>{_escaped(table.caption)}</caption>"] if table.caption else []
    heads = "".join(f'<th scope="col">{_escaped(head)}</th>' for head in table.head)
    rows = [
        "".join(_cell(cell, is_factor=place < table.num_factors) for place, cell in enumerate(row))
        for row in table.rows
    ]
    return "\n".join(
        [
            "<table>",
            *caption,
            f"<thead><tr>{heads}</tr></thead>",
            "<tbody>",
            *(f"<tr>{row}</tr>" for row in rows),
            "</tbody>",
            "</table>",
            "",
        ]
    )


def _cell(cell: Cell, *, is_factor: bool) -> str:
    words = _escaped(text_of(cell))
    if is_factor:
        return f'<th scope="row">{words}</th>'
    if isinstance(cell, Number) and cell.is_best:
        value = _escaped(cell.value)
        words = f"<b>{value}</b>{words.removeprefix(value)}"
    return f"<td>{words}</td>"


def _escaped(text: str) -> str:
    return html.escape(" ".join(text.split()))
