"""Narrow: a table in a terminal that is narrower than it, whose cells are folded between words, never cut.

Where not even the longest words fit side by side, each row is a list of its own.
"""

from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

_BESIDE, _EDGE = 3, 1
"""Widths of the borders: of each column, and of the last one's right edge."""


def folded(table: Table, width: int) -> RenderableType:
    """The table, or a list of its rows: no line is longer than the width, longer words aside."""
    cells = [[column.header, *column.cells] for column in table.columns]
    if not all(isinstance(cell, str | Text) for own in cells for cell in own):
        return table
    texts = [[str(cell) for cell in own] for own in cells]
    whole = [_longest(line for text in own for line in text.splitlines()) for own in texts]
    room = width - _EDGE - _BESIDE * len(cells)
    if sum(whole) <= room:
        return table
    least = [
        of_lines if column.no_wrap else _longest(word for text in own for word in text.split())
        for column, own, of_lines in zip(table.columns, texts, whole, strict=True)
    ]
    if sum(least) > room:
        return Group(*_list(table, texts))
    _share(table.columns, least, whole, room - sum(least))
    return table


def _longest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _share(columns: Iterable[Column], least: list[int], whole: list[int], rest: int) -> None:
    """Set the widths of columns to the longest words, and share the rest by what they lack."""
    lacks = [full - word for full, word in zip(whole, least, strict=True)]
    for column, word, lack in zip(columns, least, lacks, strict=True):
        column.width = word + rest * lack // max(sum(lacks), 1)


def _list(table: Table, texts: list[list[str]]) -> Iterable[Text]:
    """Title and rows one below the other; of a row each cell, with the head of its column."""
    if table.title:
        yield Text(str(table.title))
    for heads_and_cells in zip(*([(own[0], cell) for cell in own[1:]] for own in texts), strict=True):
        yield Text()
        for head, cell in heads_and_cells:
            if cell:
                yield Text(f"{head}: {cell}" if head else cell)
