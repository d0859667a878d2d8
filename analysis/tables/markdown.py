"""Markdown: a table for a page, the best numbers in bold, its caption below."""

from analysis.tables.cells import Cell, Number, text_of
from analysis.tables.contents import Table

_SIGNS = {character: f"\\{character}" for character in "\\|*_`<>"}


def markdown(table: Table) -> str:
    """The table for a page in Markdown."""
    lines = [" | ".join(map(_escaped, table.head)), " | ".join(["---"] * len(table.head))]
    lines += [" | ".join(map(_cell, row)) for row in table.rows]
    text = "".join(f"| {line} |\n" for line in lines)
    return f"{text}\n{_escaped(table.caption)}\n" if table.caption else text


def _cell(cell: Cell) -> str:
    words = _escaped(text_of(cell))
    if isinstance(cell, Number) and cell.is_best:
        value = _escaped(cell.value)
        return f"**{value}**{words.removeprefix(value)}"
    return words


def _escaped(text: str) -> str:
    return "".join(_SIGNS.get(character, character) for character in " ".join(text.split()))
