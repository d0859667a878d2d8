"""Worker threads: large work is on all of them, and an interrupt finds them all at work or none."""

import itertools
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import _threads_queues
from typing import Any

import numpy as np
import pytest
import torch
from data_sets import loaded

import models
from cosim.data import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.workers import Workers
from cosim.training.programs import sgd
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("num_workers", [2, 3])
def test_a_large_level_is_trained_on_all_workers_at_once(monkeypatch, num_workers: int) -> None:
    """The first calls wait for each other while they train."""
    together, numbers, threads = threading.Barrier(num_workers), itertools.count(), set()
    train = sgd.train_relu_layers

    def noted(*arguments: Any) -> None:
        if next(numbers) < num_workers:
            together.wait(timeout=20.0)
        threads.add(threading.get_ident())
        train(*arguments)

    monkeypatch.setattr(sgd, "train_relu_layers", noted)
    learner = Learner(models.build("relu-12-300-4"), loaded(Synthetic()), num_workers=num_workers)
    work: dict[str, Any] = {"model": learner.initial_model(1), "num_steps": 2, "samples": np.arange(30)}
    local = Sgd(batch_size=8)
    updates = [PendingUpdate(client=f"client-{i:02}", training=local, key=i, **work) for i in range(96)]
    learner.weights(mean(updates))
    assert len(threads) == num_workers


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
