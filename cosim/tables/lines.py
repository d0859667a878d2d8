"""Lines: a file of text with one number in each line, and nothing else."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.configuration.rules import short
from cosim.tables.content import BOM, check_is_text, content_of
from cosim.tables.faults import fault
from cosim.tables.text_column import BLANKS, number_of


def numbers_above_0(path: Path, unit: str) -> NDArray[np.float64]:
    """The numbers of a file, all finite and above 0, read-only, shape (lines,).

    Args:
        unit: Of the numbers, for messages.

    Raises:
        ConfigurationError: It cannot be read, is no text in UTF-8, or a line holds something else.
    """
    content = content_of(path).removeprefix(BOM)
    check_is_text(path, content)
    lines = [line.strip(BLANKS) for line in content.decode("utf-8").rstrip().splitlines()]
    numbers = np.array([number_of(line) for line in lines])
    wrong = ~((numbers > 0.0) & (numbers < np.inf))
    if wrong.any():
        row = int(wrong.argmax())
        what = short(repr(lines[row])) if lines[row] else "an empty line"
        raise fault(
            path, f"{what} is no finite number above 0", f"one number of {unit} in each line", row=row + 1
        )
    numbers.flags.writeable = False
    return numbers
