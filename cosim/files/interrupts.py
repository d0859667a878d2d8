"""Interrupts: Ctrl-C, and the SIGTERM of a cluster or of `kill`, stop a run wherever they fall.

Commands (`scenarios.command_line.interrupts`) end by the first of them cleanly. A second Ctrl-C kills at
once; a second SIGTERM only two seconds later or more, because `timeout` sends it to the process and to its
group. Files are whole at every instant.

Python cannot raise an exception out of a finaliser or the callback of a weak reference; it prints a
KeyboardInterrupt that falls into one, and goes on. Here it is sent again a moment later (`interrupts_kept`).
"""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN_AFTER_WALL_S = 0.01
_SAME_WITHIN_WALL_S = 2.0
"""In which a second SIGTERM is the first once more. [no source]"""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM has come."""


class Fallen:
    """The interrupt that has come since a command began to listen, and when."""

    interrupt: KeyboardInterrupt | None = None
    at_wall_s = 0.0


def raise_fallen() -> None:
    """Raise an interrupt once more that has fallen, for what goes on though one has."""
    if Fallen.interrupt is not None:
        raise type(Fallen.interrupt)


def interrupt(number: int, frame: Any) -> None:
    """End by this signal; what comes later kills."""
    signal.signal(signal.SIGTERM, _kill)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Fallen.interrupt = KeyboardInterrupt() if number == signal.SIGINT else Terminated()
    Fallen.at_wall_s = time.monotonic()
    raise Fallen.interrupt


def _kill(number: int, frame: Any) -> None:
    """End at once, unless the signal is the first once more."""
    if time.monotonic() - Fallen.at_wall_s >= _SAME_WITHIN_WALL_S:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Send a KeyboardInterrupt again that could not be raised where it fell."""
    usual = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            usual(unraisable)
            return
        number = signal.SIGTERM if issubclass(unraisable.exc_type, Terminated) else signal.SIGINT
        if not callable(handler := signal.getsignal(number)) or handler is _kill:  # it was the first
            signal.signal(number, interrupt)
        threading.Timer(_AGAIN_AFTER_WALL_S, _thread.interrupt_main, (number,)).start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = usual


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Delay a signal until this is over; only the main thread receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    fallen: list[int] = []
    usual = {number: signal.getsignal(number) for number in SIGNALS}
    usual = {number: handler for number, handler in usual.items() if callable(handler)}
    for number in usual:
        signal.signal(number, lambda number, frame: fallen.append(number))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    if fallen:
        usual[signal.Signals(fallen[0])](fallen[0], None)
