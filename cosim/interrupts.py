"""Interrupts: Ctrl-C stops a run wherever it falls.

Python cannot raise an exception out of a finaliser or the callback of a weak reference; it prints a
KeyboardInterrupt that falls into one, and goes on. Here it is sent again a moment later.
"""

import _thread
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
