"""Progress: how far a run or a study has come, as a bar, or as a line for each tenth where nobody watches."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from cosim.servers.end import Counted
from scenarios.command_line.console import console

Show = Callable[[Counted, str], None]
"""Takes how much is done, and words on it."""


@contextmanager
def progress_of(name: str, quiet: bool = False) -> Iterator[Show]:
    """A function that shows how far something has come."""
    if quiet:
        yield lambda counted, words: None
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=28),
            TextColumn("{task.fields[words]}", markup=False),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(name, total=None, words="")

            def update(counted: Counted, words: str) -> None:
                done, of, _ = counted
                bar.update(task, completed=done, total=of, words=f"{_told(counted)}, {words}")

            yield update
    else:
        started, last = time.monotonic(), -1

        def line(counted: Counted, words: str) -> None:
            nonlocal last
            tenths = min(10, int(counted.done * 10 // counted.of))
            if tenths > last:
                last = tenths
                wall_s = time.monotonic() - started
                print(f"{name}: {_told(counted)}, {words}, {wall_s:.0f} s", file=sys.stderr)

        yield line


def _told(counted: Counted) -> str:
    return f"{counted.done:g} of {counted.of:g} {counted.what}"
