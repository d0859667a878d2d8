"""Progress: a bar for a run or a study, or a line for each tenth outside a terminal.

A terminal and a notebook show a bar; otherwise lines go to standard error. In a notebook the bar is a text
that is replaced, which needs only IPython (bars of rich need widgets there). The time left is estimated from
the pace since the first report, so that work done before a run or a study was resumed does not count.

Usage::

    with progress_of("quickstart") as show:
        show(Counted(10, 40, "rounds"), "test accuracy 91.2 %")
"""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Protocol

from cosim.ends.port import Counted

if TYPE_CHECKING:
    import rich.console


_BAR_WIDTH = 28
_TEXT_EVERY_WALL_S = 0.2


class Show(Protocol):
    """Shows how far something has come."""

    def __call__(self, counted: Counted, words: str, *, within: float = 0.0) -> None:
        """Show what is done, and words on it.

        Args:
            within: How much of what is counted is under way, besides what is done.
        """


@contextmanager
def progress_of(name: str, quiet: bool = False) -> Iterator[Show]:
    """A function that shows how far something has come."""
    if quiet:
        yield lambda counted, words, *, within=0.0: None
    elif _console().is_jupyter:
        yield _text(name)
    elif _console().is_terminal:
        with _bar(name) as show:
            yield show
    else:
        yield _lines(name)


def say(words: str) -> None:
    """Print words where progress is shown; ignored where they cannot be written."""
    with suppress(OSError):  # in a notebook, what goes to standard error looks like one
        print(words, file=sys.stdout if _console().is_jupyter else sys.stderr)


def duration(wall_s: float) -> str:
    """Waiting time for a reader, in words."""
    for unit_s, unit, enough in ((1.0, "s", 100.0), (60.0, "minutes", 120.0), (3600.0, "hours", 72.0)):
        if wall_s < enough * unit_s:
            return f"{max(wall_s / unit_s, 1.0):.0f} {unit}"
    return f"{wall_s / 86400.0:.0f} days"


@cache
def _console() -> "rich.console.Console":
    import rich.console  # only once progress is shown

    return rich.console.Console(highlight=False)


class _Pace:
    """Remaining time, by the pace since the first news."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self._first: tuple[float, float] | None = None

    def left(self, done: float, of: float) -> str:
        """In words, after a comma; nothing where it is not known or all is done."""
        now = time.monotonic()
        began, before = self._first = self._first or (now, done)
        if done <= before or done >= of:
            return ""
        return f", about {duration((now - began) * (of - done) / (done - before))} left"


@contextmanager
def _bar(name: str) -> Iterator[Show]:
    from rich.progress import BarColumn, Progress, TextColumn

    told = TextColumn("{task.fields[words]}", markup=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=_BAR_WIDTH), told)
    pace = _Pace()
    with Progress(*columns, console=_console()) as bar:
        task = bar.add_task(name, total=None, words="")

        def show(counted: Counted, words: str, *, within: float = 0.0) -> None:
            done = counted.done + within
            said = f"{_told(counted)}, {words}{pace.left(done, counted.of)}"
            bar.update(task, completed=done, total=counted.of, words=said)

        yield show


def _text(name: str) -> Show:
    from IPython.display import display  # type: ignore[import-not-found]

    pace, handle = _Pace(), display({"text/plain": name}, raw=True, display_id=True)
    shown_at = -math.inf

    def show(counted: Counted, words: str, *, within: float = 0.0) -> None:
        nonlocal shown_at
        done = counted.done + within
        left = pace.left(done, counted.of)
        if time.monotonic() - shown_at < _TEXT_EVERY_WALL_S and done < counted.of:
            return
        shown_at = time.monotonic()
        bar = "━" * int(_BAR_WIDTH * done / counted.of)
        said = f"{name} {bar:·<{_BAR_WIDTH}} {_told(counted)}, {words}{left}"
        handle.update({"text/plain": said}, raw=True)

    return show


def _lines(name: str) -> Show:
    pace, last = _Pace(), -1

    def show(counted: Counted, words: str, *, within: float = 0.0) -> None:
        nonlocal last
        done = counted.done + within
        tenths, left = min(10, int(done * 10 // counted.of)), pace.left(done, counted.of)
        if tenths > last:
            last = tenths
            wall_s = time.monotonic() - pace.started
            say(f"{name}: {_told(counted)}, {words}, {wall_s:.0f} s{left}")

    return show


def _told(counted: Counted) -> str:
    return f"{counted.done:g} of {counted.of:g} {counted.what}"
