"""Text: the cells of a csv file, with their rows and columns as the file has them.

Arrow splits plain files fast. What it would read in another way than Python's strict reader, and every file
that it refuses, is walked row by row; that walk says what a csv file is, and names the row of a fault.

Validation: tests/tables/test_text.py, which holds both against each other.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cosim.configuration.rules import short
from cosim.tables.content import BOM, check_is_text, content_of
from cosim.tables.faults import fault
from cosim.tables.table import Table
from cosim.tables.text_column import BLANKS, TextColumn, number_of

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_BLOCK = 2**20
"""Bytes that Arrow reads at a time, where no line is as long."""
_WITHIN = re.compile(rb'[^,\n]"[^,\r\n]')
"""A quote within a field, where doubled ones are left out."""
_GLUED = re.compile(rb'(?:^|[,\n])""[^",\r\n]')
"""An empty field in quotes, with more behind it."""


def table_of_text(path: Path, separator: str = ",") -> Table:
    """The table of a csv file.

    Args:
        separator: Separator of columns, such as a semicolon in a file of a tool that always writes it.

    Raises:
        ConfigurationError: It is no csv file in UTF-8 with that separator; a row has more or fewer fields
            than the header; there are no rows.
    """
    content = content_of(path).removeprefix(BOM)
    check_is_text(path, content)
    content = content.rstrip()
    header, _, body = content.partition(b"\n")
    if header.count(b'"') % 2 or b"\r" in header.rstrip(b"\r") or not header.strip():
        return _walked(path, content, separator)
    names = _names(path, 1, next(_rows(path, header, separator))[1])
    columns = _split(body, len(names)) if separator == "," else None
    return _walked(path, content, separator) if columns is None else _table(path, names, columns, None)


def _split(body: bytes, num_columns: int) -> "list[pa.ChunkedArray] | None":
    """The cells of plain rows; None if they are not plain, or no csv."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    if body.count(b"\r") != body.count(b"\r\n"):
        return None
    if b'"' in body and _has_loose_quotes(body):
        return None
    names = [str(number) for number in range(num_columns)]
    try:
        found = arrow.read_csv(
            pa.BufferReader(body),
            read_options=arrow.ReadOptions(column_names=names, block_size=_block_size(body)),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    has_a_row_a_line = body and found.num_rows == body.count(b"\n") + 1
    return found.columns if has_a_row_a_line else None


def _block_size(body: bytes) -> int:
    """Bytes that Arrow reads at a time, so that a line ends in each block."""
    half = _BLOCK // 2
    while any(body.find(b"\n", at, at + half) < 0 for at in range(0, len(body) - half, half)):
        half *= 2
    return 2 * half


def _has_loose_quotes(body: bytes) -> bool:
    """True if Arrow would read quotes that Python's strict reader refuses."""
    return body.count(b'"') % 2 == 1 or bool(_GLUED.search(body) or _WITHIN.search(body.replace(b'""', b"")))


def _walked(path: Path, content: bytes, separator: str) -> Table:
    """The table of a file, row by row."""
    import pyarrow as pa

    rows = _rows(path, content, separator)
    names = _names(path, *next(row for row in rows if row[1] != [""]))
    lines, each = [], []
    for line, fields in rows:
        if fields == [""] and len(names) > 1:
            continue
        if len(fields) != len(names):
            raise _wrong_length(path, line, fields, names)
        lines.append(line)
        each.append(fields)
    columns = [pa.chunked_array([pa.array(cells, pa.string())]) for cells in zip(*each, strict=True)]
    return _table(path, names, columns, lines)


def _rows(path: Path, content: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The line in which each row ends, and its fields; of an empty line one empty field."""
    csv.field_size_limit(max(csv.field_size_limit(), len(content)))
    text = io.StringIO(content.decode("utf-8"), newline="")
    reader = csv.reader(text, delimiter=separator, strict=True, skipinitialspace=True)
    try:
        for fields in reader:
            yield reader.line_num, [text.strip(BLANKS) for text in fields] or [""]
    except csv.Error as error:
        what = f"is no row of a csv file ({error})"
        raise fault(
            path, what, 'quotes around whole fields, doubled within ("a ""b""")', row=reader.line_num
        ) from None


def _table(
    path: Path, names: Sequence[str], columns: "Sequence[pa.ChunkedArray]", lines: Sequence[int] | None
) -> Table:
    if not columns or not len(columns[0]):
        raise fault(path, "has no rows after the header", "a file with the data")
    cells = {name: TextColumn(column) for name, column in zip(names, columns, strict=True)}
    return Table(path, cells, len(columns[0]), lambda row: lines[row] if lines else row + 2)


def _names(path: Path, line: int, fields: Sequence[str]) -> Sequence[str]:
    """The names of a header."""
    first = fields[0]
    if first[:1] in ("#", "%"):
        what = f"{short(repr(first))} is a comment, where the names of the columns are expected"
        raise fault(path, what, "a file without lines that begin with # or %", row=line)
    if len(fields) == 1 and (used := next((one for one in _SEPARATORS if one in first), None)):
        what = f"the header is separated by {_SEPARATORS[used]}: {short(repr(first))}"
        raise fault(path, what, "commas between columns, and points in decimals", row=line)
    if all(number_of(name) == number_of(name) for name in fields):
        what = f"the header holds numbers in place of names: {short(', '.join(fields))}"
        raise fault(path, what, "a first row with the names of the columns", row=line)
    for name, count in Counter(fields).items():
        if count > 1:
            what = f"appears {count} times" if name else f"{count} columns have no name"
            raise fault(path, what, "one name for each column", row=line, column=name)
    return fields


def _wrong_length(path: Path, line: int, fields: Sequence[str], names: Sequence[str]) -> Exception:
    what = f"has {len(fields)} fields, and the header {len(names)}"
    instead = f"a field for each of {short(', '.join(names))}"
    if fields[0][:1] in ("#", "%"):
        what, instead = (
            f"{short(repr(fields[0]))} is a comment",
            "a file without lines that begin with # or %",
        )
    elif len(fields) == len(names) + 1 and not fields[-1]:
        what, instead = f"{what}: it ends in a comma", "rows without a comma at the end"
    elif len(fields) > len(names):
        instead += ", and points in decimals"
    return fault(path, what, instead, row=line)
