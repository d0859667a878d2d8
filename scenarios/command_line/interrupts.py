"""Interrupts of a command: heard from its beginning, and its exit code when it ends by one."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from cosim.files.interrupts import SIGNALS, Fallen, Terminated, interrupt, interrupts_kept


@contextmanager
def interrupts_heard() -> Iterator[None]:
    """Raise KeyboardInterrupt by the first signal, and let a second Ctrl-C kill; for the main thread.

    A signal that is ignored, as Ctrl-C by a background job, stays so.
    """
    usual = {number: signal.getsignal(number) for number in SIGNALS}
    Fallen.interrupt = None
    try:
        for number, handler in usual.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, interrupt)
        with interrupts_kept():
            yield
    finally:
        Fallen.interrupt = None
        for number, handler in usual.items():
            if signal.getsignal(number) is interrupt:
                signal.signal(number, handler)


def behind(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt that has ended a command; None if another error has.

    A library that is interrupted while it is loaded may tell of it by an error of its own.
    """
    if isinstance(error, KeyboardInterrupt):
        return error
    return None if isinstance(error, SystemExit) else Fallen.interrupt


def exit_code_of(fallen: KeyboardInterrupt) -> int:
    """The one by which shells know the signal: 143 of SIGTERM, 130 of Ctrl-C."""
    return 128 + (signal.SIGTERM if isinstance(fallen, Terminated) else signal.SIGINT)
