"""Lines: a file of text whose lines hold numbers or words between blanks, each with its number."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.tables.content import BOM, check_is_text, content_of
from cosim.tables.faults import fault
from cosim.tables.text_column import number_of


class Line(NamedTuple):
    """A line of a file.

    Attributes:
        path: The file.
        number: Number of the line, from 1.
        words: What stands between blanks.
    """

    path: Path
    number: int
    words: list[str]

    def fault(self, what: str, instead: str) -> ConfigurationError:
        """The error of the line."""
        return fault(self.path, what, instead, row=self.number)

    def number_at(self, column: int, name: str) -> float:
        """A finite number, 0 or above.

        Args:
            column: Its place among the words, from 0.
            name: Of the column, for messages.

        Raises:
            ConfigurationError: Another word stands there.
        """
        number = number_of(self.words[column])
        if not 0.0 <= number < float("inf"):
            what = f"{short(repr(self.words[column]))} is no number of 0 or above"
            raise fault(self.path, what, "a number such as 12.5 or 1.5e6", row=self.number, column=name)
        return number


def lines_of(path: Path, separators: str = "") -> Iterator[Line]:
    """Lines of a file, without empty ones at its end.

    Args:
        separators: Characters that separate words, besides blanks.

    Raises:
        ConfigurationError: It cannot be read, is no text in UTF-8, is empty, or has an empty line.
    """
    content = content_of(path).removeprefix(BOM)
    check_is_text(path, content)
    whole = content.decode("utf-8").rstrip().translate(str.maketrans(separators, " " * len(separators)))
    for number, text in enumerate(whole.splitlines(), 1):
        line = Line(path, number, text.split())
        if not line.words:
            raise line.fault("is empty", "lines without empty ones between them")
        yield line
