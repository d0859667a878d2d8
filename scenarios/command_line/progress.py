"""Progress: how far a run or a study has come, as a bar, or as a line for each tenth where nobody watches."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from scenarios.command_line.console import console

Show = Callable[[int, int, str], None]
"""Takes how many are done, of how many, and words on them."""


@contextmanager
def progress_of(name: str, what: str, quiet: bool = False) -> Iterator[Show]:
    """A function that shows how far something has come.

    Args:
        what: What is counted, such as rounds.
    """
    if quiet:
        yield lambda done, total, words: None
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn(f"{what}, {{task.fields[words]}}"),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(name, total=None, words="")
            yield lambda done, total, words: bar.update(task, completed=done, total=total, words=words)
    else:
        started, last = time.monotonic(), -1

        def line(done: int, total: int, words: str) -> None:
            nonlocal last
            if done * 10 // total > last:
                last = done * 10 // total
                wall_s = time.monotonic() - started
                print(f"{name}: {done} of {total} {what}, {words}, {wall_s:.0f} s", file=sys.stderr)

        yield line
