"""Executors: where the runs of a study are played, and what becomes of those whose worker dies.

Processes of this machine are forked from a server that has nothing but the engine loaded, so they start at
once. They end with the process that asked for them. Any other `concurrent.futures.Executor` is used as it is.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext
from typing import Any

from cosim.learning.workers import num_cores

MOST_ATTEMPTS = 3
"""How often a job is begun whose worker dies. [no source]"""
Key = tuple[int, int]
"""Design and seed."""


@contextmanager
def pool(executor: Executor | None, num_workers: int | None) -> Iterator[Callable[[], Executor]]:
    """What gives the executor, a fresh one after the last broke."""
    if executor is not None:
        yield lambda: executor
        return
    own: list[ProcessPoolExecutor] = []

    def processes() -> ProcessPoolExecutor:
        own.append(
            ProcessPoolExecutor(
                max_workers=num_workers or num_cores(),
                mp_context=_clean_processes(),
                initializer=_begin,
                initargs=(os.getpid(), dict(os.environ)),
            )
        )
        return own[-1]

    try:
        yield processes
    finally:
        for used in own:
            used.shutdown(wait=True, cancel_futures=True)


def _clean_processes() -> ForkServerContext:
    """Processes that know nothing of this one but what they are sent."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cosim.running", "cosim.learning.learner"])
    return context


def _begin(asker: int, environment: dict[str, str]) -> None:
    """Let this process see the environment of the one that asked for it, and end when that one has.

    So nobody holds a run that a new study wants.
    """
    os.environ.clear()
    os.environ.update(environment)
    server = os.getppid()

    def watch() -> None:
        while os.getppid() == server and _is_alive(asker):
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def played(
    pool: Callable[[], Executor], play: Callable[[Any], dict[str, Any]], wanted: dict[Key, Any]
) -> Iterator[tuple[Key, dict[str, Any]]]:
    """What becomes of every wanted job, also of those that are wanted on the way.

    Args:
        pool: Gives an executor, a fresh one after the last broke.
        play: Plays a job in a worker; returns what the table says of it.
        wanted: Key -> job; emptied.
    """
    executor: Executor | None = None
    attempts: dict[Key, int] = {}
    jobs: dict[Key, Any] = {}
    waiting: dict[Future[dict[str, Any]], Key] = {}
    while wanted or waiting:
        executor = executor or pool()
        for key in list(wanted):
            jobs[key] = wanted.pop(key)
            attempts[key] = attempts.get(key, 0) + 1
            waiting[_submitted(executor, play, jobs[key])] = key
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda future: waiting[future]):
            key = waiting.pop(future)
            try:
                outcome = future.result()
            except BrokenExecutor:
                executor = None
                if attempts[key] < MOST_ATTEMPTS:
                    wanted[key] = jobs[key]
                    continue
                outcome = {"status": "failed", "error": f"its worker died, {attempts[key]} times"}
            except Exception as error:
                outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
            yield key, outcome


def _submitted(executor: Executor, play: Callable[[Any], dict[str, Any]], job: Any) -> Future[dict[str, Any]]:
    """The job's future, also where the executor has broken since it was asked last."""
    try:
        return executor.submit(play, job)
    except BrokenExecutor as error:
        broken: Future[dict[str, Any]] = Future()
        broken.set_exception(error)
        return broken
