"""Interrupts: Ctrl-C stops a run wherever it falls.

Python cannot raise an exception out of a finaliser or the callback of a weak reference; it prints a
KeyboardInterrupt that falls into one, and goes on. Here it is sent again a moment later.
"""

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN_AFTER_WALL_S = 0.01


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Send a KeyboardInterrupt again that could not be raised where it fell."""
    usual = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            threading.Timer(_AGAIN_AFTER_WALL_S, _thread.interrupt_main).start()
        else:
            usual(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = usual


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Hear of a Ctrl-C that falls into this when it is over; only the main thread hears of any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    fallen: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: fallen.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if fallen and callable(usual):
        usual(fallen[0], None)
