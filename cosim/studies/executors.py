"""Executors: processes in which the runs of a study run, and the handling of workers that die.

Processes of this machine are forked from a server that has nothing but the engine loaded, so they start at
once. They end with the process that asked for them, and only that process handles Ctrl-C. Any other
`concurrent.futures.Executor` is used unchanged. A job travels as bytes: a scheduler on its way needs none of
its modules, and a worker without one of them says so.
"""

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from cosim.configuration import ConfigurationError
from cosim.engine.learning.workers import num_cores
from cosim.files.interrupts import interrupts_deferred
from cosim.files.on_disk import is_alive, machine, shown
from cosim.studies.carried import put_in_place
from cosim.studies.main_module import WORKER, check_began

if TYPE_CHECKING:  # it loads the engine
    from cosim.studies.order import Order

MOST_ATTEMPTS = 3
"""Most attempts at a job whose worker dies. [no source]"""
PRELOADED = ["cosim.engine.run.run", "cosim.engine.learning.learner", "torch._dynamo"]
"""Modules that worker processes share; torch imports the last one at its first gradient, at great cost."""
GIVEN_UP = (
    "its executor gave it up, as when a cluster's scheduler ends. Use the same command once there is one."
)
"""Error of a job that was cancelled."""
Key = tuple[int, int]
"""Design and seed."""


@contextmanager
def pool(executor: Executor | None, num_workers: int | None) -> Iterator[Callable[[], Executor]]:
    """Function that gives the executor, a fresh one after the last broke."""
    if executor is not None:
        yield lambda: executor
        return
    own: list[ProcessPoolExecutor] = []
    context = _Processes()

    def processes() -> ProcessPoolExecutor:
        own.append(
            ProcessPoolExecutor(
                max_workers=num_workers or num_cores(),
                mp_context=context,
                initializer=_begin,
                initargs=(os.getpid(), dict(os.environ)),
            )
        )
        return own[-1]

    try:
        context.wait_for_server()
        yield processes
    except BaseException:
        context.kill()
        raise
    finally:
        for used in own:
            used.shutdown(wait=True, cancel_futures=True)


class _Processes(ForkServerContext):
    """Processes that know nothing of this one except what they are sent, and ignore Ctrl-C."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[BaseProcess] = []
        self.set_forkserver_preload(PRELOADED)

    def Process(self, *args: Any, **kwargs: Any) -> BaseProcess:  # type: ignore[override]
        """Process that is not started yet."""
        process = ForkServerProcess(*args, **kwargs)
        process.name = WORKER
        self._started.append(process)
        return process

    def wait_for_server(self) -> None:
        """Start the server that they are forked from; an interrupt meanwhile leaves nothing behind.

        Raises:
            ConfigurationError: It cannot be started, or the first process cannot.
        """
        try:
            self._start()
        except (OSError, EOFError) as error:
            raise ConfigurationError(
                f"Study.run: its worker processes cannot be started ({error}). They need a socket in "
                f"{shown(Path(gettempdir()))}. Use a folder with a shorter path: TMPDIR=/tmp."
            ) from None

    def _start(self) -> None:
        resource_tracker.ensure_running()  # it unblocks signals
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        first = self.Process(target=_nothing)
        first.start()
        first.join()
        check_began(first)

    def kill(self) -> None:
        """End the processes now; everything that they have saved is complete at every instant."""
        for process in self._started:
            if process.pid is not None:
                process.kill()


def _nothing() -> None:
    """Task of the first process."""


def _begin(asker: int, environment: dict[str, str]) -> None:
    """Give this process the environment of the process that asked for it, and end when that one has ended.

    So no process holds a run that a new study needs.
    """
    os.environ.clear()
    os.environ.update(environment)
    server = os.getppid()

    def watch() -> None:
        while os.getppid() == server and is_alive(asker):
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def outcomes(
    pool: Callable[[], Executor], run: Callable[[Any], dict[str, Any]], wanted: "dict[Key, Order]"
) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Outcome of every wanted job, including jobs that are added meanwhile.

    Args:
        pool: Gives an executor, a fresh one after the last broke.
        run: Runs a job in a worker; returns its row of the table.
        wanted: Key -> job; emptied.
    """
    executor: Executor | None = None
    attempts: dict[Key, int] = {}
    jobs: dict[Key, Order] = {}
    waiting: dict[Future[dict[str, Any]], Key] = {}
    while wanted or waiting:
        executor = executor or pool()
        for key in list(wanted):
            jobs[key] = wanted.pop(key)
            attempts[key] = attempts.get(key, 0) + 1
            waiting[_submitted(executor, run, jobs[key])] = key
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda future: waiting[future]):
            key = waiting.pop(future)
            try:
                outcome = put_in_place(Path(jobs[key].folder), future.result())
            except BrokenExecutor:
                executor = None
                if attempts[key] < MOST_ATTEMPTS:
                    wanted[key] = jobs[key]
                    continue
                outcome = {"status": "failed", "error": f"its worker died, {attempts[key]} times"}
            except CancelledError:
                outcome = {"status": "failed", "error": GIVEN_UP}
            except Exception as error:
                outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
            yield key, outcome


def _submitted(
    executor: Executor, run: Callable[[Any], dict[str, Any]], job: "Order"
) -> Future[dict[str, Any]]:
    """Future of the job, even if the executor has broken since it was asked last, or it cannot travel."""
    try:
        packed = pickle.dumps(job)
        with interrupts_deferred():  # no process is left half started
            return executor.submit(_unpacked, run, packed)
    except (BrokenExecutor, pickle.PicklingError, AttributeError, TypeError) as error:
        broken: Future[dict[str, Any]] = Future()
        broken.set_exception(error)
        return broken


def _unpacked(run: Callable[[Any], dict[str, Any]], packed: bytes) -> dict[str, Any]:
    """Outcome of a job in a worker."""
    try:
        job = pickle.loads(packed)
    except Exception as error:  # of any kind: it imports modules of the user's
        what = f"worker on {machine()}: cannot read its run ({type(error).__name__}: {error})"
        fix = "Use the modules of the process that asks for runs: put their folder on the worker's PYTHONPATH"
        return {"status": "failed", "error": f"{what}. {fix}, and start it again."}
    return run(job)
