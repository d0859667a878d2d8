"""Worker threads, each computing with one torch thread, whose results come back in order.

Small matrix products gain little from several threads each; several products side by side do. The caller's
own torch settings stay as they are.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from cosim.interrupts import interrupts_deferred

T = TypeVar("T")
MOST_WORKERS = 1024
"""Threads that a machine gives a process for sure. [no source]"""


def num_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """One torch thread for the caller too: a team of it would wait for cores that the workers keep busy."""
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(num_threads)


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
        pool = self._started()
        running: deque[Future[T]] = deque()
        try:
            for task in tasks:
                running.append(pool.submit(_without_gradients, task))
                del task  # and what it holds, when it has run
                if len(running) > self.num_workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()

    def _started(self) -> ThreadPoolExecutor:
        if self._pool is None:
            barrier = threading.Barrier(self.num_workers)
            pool = ThreadPoolExecutor(self.num_workers, thread_name_prefix="learner")
            # Cut short, threads would wait for each other for ever, and the process for them.
            with interrupts_deferred(), one_torch_thread():
                for future in [pool.submit(_keep_num_threads, barrier) for _ in range(self.num_workers)]:
                    future.result()
            self._pool = pool
        return self._pool


def _keep_num_threads(barrier: threading.Barrier) -> None:
    import torch

    torch.get_num_threads()  # a thread copies the caller's count at its first use of torch, which is this
    barrier.wait()  # so that every worker takes one of these tasks


def _without_gradients(task: Callable[[], T]) -> T:
    import torch

    with torch.no_grad():
        return task()
