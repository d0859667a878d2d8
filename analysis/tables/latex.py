r"""LaTeX: a table for a paper, with booktabs and siunitx.

Numbers stand in columns of siunitx (`S`), aligned at their points, each with its interval in the next
column; the best are bold. Long heads have two lines. With a caption the table is a float, across both columns
of a page if it is wide.

Scope and limitations: text in UTF-8; the preamble needs `\usepackage{booktabs,siunitx}`, either version 2 or
3 of siunitx.

Validation: tests/analysis/tables/test_latex.py, by a parser, and by pdflatex where it is installed.
"""

import re
from collections.abc import Iterator, Sequence

from analysis.tables.cells import Cell, Number, text_of
from analysis.tables.contents import Table

PREAMBLE = r"\usepackage{booktabs,siunitx}"
LONG_HEAD, NARROW, WIDEST = 16, 52, 105
"""Characters of a head in one line, and of a table that fits one of two columns, and both."""
_SIGNS = {
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
    "–": "--",
}


def latex(table: Table) -> str:
    """The table as LaTeX: a tabular, or a float where it has a caption."""
    columns = _columns(table)
    lines = [
        rf"\begin{{tabular}}{{{''.join(column.form for column in columns)}}}",
        r"\toprule",
        rf"{' & '.join(column.top for column in columns)} \\",
        r"\midrule",
        *_rows(table, columns),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if not table.caption:
        return "\n".join([*lines, ""])
    kind = "table*" if sum(column.width for column in columns) > NARROW else "table"
    return "\n".join(
        [
            f"% {PREAMBLE}",
            rf"\begin{{{kind}}}",
            r"\centering",
            rf"\caption{{{escaped(table.caption)}}}",
            rf"\label{{{label_of(table.label)}}}",
            r"\medskip\sisetup{detect-weight=true, mode=text}",
            *lines,
            rf"\end{{{kind}}}",
            "",
        ]
    )


def is_too_wide(table: Table) -> bool:
    """True if it is wider than a page of two columns."""
    return sum(column.width for column in _columns(table)) > WIDEST


def escaped(text: str) -> str:
    """Text as LaTeX sets it, in one line; a number and its per cent stay together."""
    found = "".join(_SIGNS.get(character, character) for character in " ".join(text.split()))
    return re.sub(r"(?<=\d) (?=\\%)", "~", found)


def label_of(name: str) -> str:
    """A label of characters that every package takes."""
    return f"tab:{re.sub(r'[^A-Za-z0-9:.-]+', '-', name.removeprefix('tab:')).strip('-') or 'study'}"


def _rows(table: Table, columns: "Sequence[_Column]") -> Iterator[str]:
    """The rows, with a space before each that begins a metric."""
    for number, row in enumerate(table.rows):
        if number and table.head[0] == "" and row[0]:
            yield r"\addlinespace"
        yield rf"{' & '.join(column.cell(cell) for column, cell in zip(columns, row, strict=True))} \\"


def _columns(table: Table) -> "list[_Column]":
    return [
        _Column(head, [row[place] for row in table.rows], is_words=place < table.num_factors)
        for place, head in enumerate(table.head)
    ]


class _Column:
    """A column of words, or of numbers and what stands beside them."""

    def __init__(self, head: str, cells: Sequence[Cell], *, is_words: bool) -> None:
        self._numbers = [] if is_words else [cell for cell in cells if isinstance(cell, Number)]
        self._has_beside = any(number.beside for number in self._numbers)
        self._head = head
        longest = max((len(text_of(cell)) for cell in cells), default=0)
        self.width = max(longest, max(map(len, _lines(head)), default=0)) + 2

    @property
    def form(self) -> str:
        """Its letters in the argument of a tabular."""
        if not self._numbers:
            return "l"
        whole = max(len(number.value.partition(".")[0].removeprefix("-")) for number in self._numbers)
        digits = max(len(number.value.partition(".")[2]) for number in self._numbers)
        sign = "-" if any(number.value.startswith("-") for number in self._numbers) else ""
        return rf"S[table-format={sign}{whole}.{digits}]" + (r"@{\ }l" if self._has_beside else "")

    @property
    def top(self) -> str:
        """Its head."""
        lines = [escaped(line) for line in _lines(self._head)]
        together = r"\\".join(lines)
        said = together if len(lines) == 1 else rf"\shortstack{{{together}}}"
        if not self._numbers:
            return said
        return rf"\multicolumn{{2}}{{c}}{{{said}}}" if self._has_beside else f"{{{said}}}"

    def cell(self, cell: Cell) -> str:
        """One of its cells."""
        if not isinstance(cell, Number) or not self._numbers:
            words = escaped(text_of(cell))
            if not self._numbers:
                return words
            return rf"\multicolumn{{2}}{{l}}{{{words}}}" if self._has_beside else f"{{{words}}}"
        value = rf"\bfseries {cell.value}" if cell.is_best else cell.value
        return f"{value} & {_signed(escaped(cell.beside))}" if self._has_beside else value


def _lines(head: str) -> list[str]:
    """A head in one line, or in two where it is long; the unit stays whole."""
    if len(head) <= LONG_HEAD or " " not in head:
        return [head]
    words, _, unit = head.partition(" (")
    parts = [*words.split(), *([f"({unit}"] if unit else [])]
    breaks = [(" ".join(parts[:place]), " ".join(parts[place:])) for place in range(1, len(parts))]
    return list(min(breaks, key=lambda lines: max(map(len, lines)))) if breaks else [head]


def _signed(text: str) -> str:
    """Numbers below zero with a minus sign for their hyphen."""
    return re.sub(r"(?<![\w.])-(?=\d)", r"$-$", text)
