"""Worker threads, each computing with one torch thread, whose results come back in order.

Small matrix products gain little from several threads each; several products side by side do. The caller's
own torch settings stay as they are.

torch has a number of threads for each thread, and one for the process, which a thread takes over at its first
use of torch; to set a thread's own sets that of the process, too. So each worker sets its own, and a caller
sets its own once more when they have ended.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")
MOST_WORKERS = 1024
"""Threads that any machine gives a process. [no source]"""


def num_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers_for(device: str) -> int:
    """Threads that learn where no number is given: one per core, or one for a GPU."""
    return num_cores() if device == "cpu" else 1


_lock = threading.Lock()
_found: dict[int, int] = {}
"""Thread -> its earlier number of torch threads, for threads that compute with one for a while."""


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """One torch thread for the caller too: a team of it would wait for cores that the workers keep busy."""
    import torch

    own = threading.get_ident()
    with _lock:
        if is_outermost := own not in _found:
            found = torch.get_num_threads()
            others = next(iter(_found.values()), found)  # from one of which it may have taken its number over
            _found[own] = others if found == 1 else found
            torch.set_num_threads(1)
    try:
        yield
    finally:
        if is_outermost:
            with _lock:
                torch.set_num_threads(_found.pop(own))


class Workers:
    """A fixed number of threads.

    Args:
        num_workers: Threads; they start with the first task.
    """

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self._pool: ThreadPoolExecutor | None = None

    def in_order(self, tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
        """Results in the order of the tasks; at most one task more than workers is ahead of the reader."""
        import torch

        pool = self._started()
        running: deque[Future[T]] = deque()
        try:
            for task in tasks:
                running.append(pool.submit(copy_context().run, _without_gradients, [task]))
                del task  # and what it holds, when it has run
                if len(running) > self.num_workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        except BaseException:
            # A thread that an interrupt meets in its start is in no list, and Python waits for it at the end.
            self._pool = None
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            for future in running:
                future.cancel()
            torch.set_num_threads(torch.get_num_threads())

    def _started(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.num_workers, "learner", _compute_with_one_torch_thread)
        return self._pool


def _compute_with_one_torch_thread() -> None:
    import torch

    torch.set_autocast_cache_enabled(False)  # threads share it, so rounding would depend on their order
    torch.get_num_threads()  # at its first use a thread takes over what another has set last
    torch.set_num_threads(1)


def _without_gradients(only: list[Callable[[], T]]) -> T:
    import torch

    task = only.pop()  # so that nothing else holds it, and what it holds, when its result is there
    with torch.no_grad():
        return task()
