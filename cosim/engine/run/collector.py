"""Python's garbage collector, which looks through young objects less often during runs.

A run by events makes and drops many small objects, and hardly any of them in circles, which alone need the
collector. Freezing what is imported as well (`gc.freeze`) gains a hundredth more, and would free what a user
has frozen.

Scope and limitations: what a user has set to look still less often stays. Runs side by side in threads share
the process's collector; the last one to end puts the threshold back.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_YOUNG = 50_000
"""New objects between two looks; 5,000 and 500,000 are slower. [no source]"""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []
"""The thresholds before the first of the runs under way, once for each of them."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """The collector looks through young objects after every `MOST_YOUNG` new ones while this lasts."""
    with _lock:
        _before.append(_before[0] if _before else gc.get_threshold())
        young, *older = _before[0]
        if young:  # 0 switches the collector off
            gc.set_threshold(max(young, MOST_YOUNG), *older)
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                gc.set_threshold(*before)
