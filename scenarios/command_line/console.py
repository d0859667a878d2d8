"""Console: the terminal, and files and folders that commands leave."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich.console
from rich.table import Table
from typing_extensions import override

from cosim.files.on_disk import place, replace, told
from scenarios.command_line.narrow import folded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class _Console(rich.console.Console):
    """A terminal that prints texts as they are, and goes on in silence when its reader is gone."""

    @override
    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    @override
    def print(self, *objects: Any, **looks: Any) -> None:
        """Print texts, and tables so that no cell is cut."""
        if not self.is_terminal or "COLUMNS" in os.environ:
            self.width = width()
        super().print(*(folded(of, self.width) if isinstance(of, Table) else of for of in objects), **looks)


_FEWEST, _IN_A_FILE = 20, 120
"""Letters in a line: the fewest that are any use, and of a file or pipe, which has no width of its own."""


def width() -> int:
    """Letters in a line: what COLUMNS says where it is a number above 0, or else the terminal has."""
    return max(shutil.get_terminal_size((_IN_A_FILE, 1)).columns, _FEWEST)


console = _Console(highlight=False, markup=False, emoji=False)
_MOST_LETTERS = 100
"""Of a name that is made of others. [no source]"""
_MOST_REMARKS = 5


def remark(remarks: Sequence[str]) -> None:
    """Say what a reader must know, beside what may be pasted; of many remarks the first few."""
    from cosim.display.progress import say  # not before something was read: it loads the engine

    num_left = len(remarks) - _MOST_REMARKS
    told = [*remarks[:_MOST_REMARKS], f"{num_left} further remarks."] if num_left > 1 else remarks
    for words in told:
        say(words)


def next_free_folder(parent: str, name: str) -> Path:
    """`name-1`, or the first number that is not taken."""
    number, name = 1, name[:_MOST_LETTERS]
    while (place(parent) / f"{name}-{number}").exists():
        number += 1
    return place(parent) / f"{name}-{number}"


def made(folder: Path) -> Path:
    """The folder, which is made where it is missing.

    Raises:
        ConfigurationError: It cannot be made.
    """
    with told(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def save_table(frame: "pd.DataFrame", path: Path) -> None:
    """Write a table as CSV, whole or not at all."""
    replace(path, lambda partial: frame.to_csv(partial, index=False))


def save_picture(figure: "Figure", path: Path) -> None:
    """Write a figure as PNG, whole or not at all."""
    replace(path, lambda partial: figure.savefig(partial, dpi=200, format="png"))
