"""Worker threads: an interrupt finds them all at work or none."""

import signal
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import _threads_queues
from typing import Any

import pytest
import torch

from cosim.engine.learning.workers import Workers

pytestmark = pytest.mark.quick


def test_an_interrupt_while_threads_start_leaves_none_that_waits_for_ever(monkeypatch) -> None:
    """Such a thread would keep the process from ending."""
    submit, submitted = ThreadPoolExecutor.submit, []

    def interrupted(pool: ThreadPoolExecutor, *task: Any) -> Future[Any]:
        submitted.append(submit(pool, *task))
        if len(submitted) == 1:
            signal.raise_signal(signal.SIGINT)
        return submitted[-1]

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(Workers(2).in_order([int]))
    finally:
        signal.signal(signal.SIGINT, usual)
    for future in submitted:
        future.result(timeout=60.0)


def test_a_thread_that_an_interrupt_meets_in_its_start_ends(monkeypatch) -> None:
    """Python knows nothing of it yet, and would wait for it when the process ends."""
    submit, started = ThreadPoolExecutor.submit, []

    def interrupted(pool: ThreadPoolExecutor, *task: Any) -> Future[Any]:
        submit(pool, *task)
        started.extend(pool._threads)
        for one in started:
            del _threads_queues[one]
        raise KeyboardInterrupt

    workers = Workers(1)
    with monkeypatch.context() as while_it_starts:
        while_it_starts.setattr(ThreadPoolExecutor, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(workers.in_order([int]))
    (one,) = started
    one.join(timeout=60.0)
    assert not one.is_alive()
    assert list(workers.in_order([int, int])) == [0, 0]


def test_a_worker_keeps_one_torch_thread_whatever_another_thread_sets_later():
    before, workers = torch.get_num_threads(), Workers(2)
    list(workers.in_order([int, int]))  # they have begun, and used nothing that torch counts threads for
    try:
        torch.set_num_threads(3)
        assert list(workers.in_order([torch.get_num_threads] * 4)) == [1] * 4
    finally:
        torch.set_num_threads(before)
