"""Executor: where the runs of a study or a figure go, processes of this machine or a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from cosim.configuration import ConfigurationError
from cosim.engine.learning.workers import num_cores

_ANSWERS_WITHIN_WALL_S = 10.0


@contextmanager
def pool(executor: str, workers: int | None) -> Iterator[tuple[Executor | None, int]]:
    """Executor of runs (None means processes of this machine), and how many it runs at a time.

    Raises:
        ConfigurationError: There is no such executor, or it cannot be reached.
    """
    kind, _, address = executor.partition("=")
    if kind == "processes" and not address:
        yield None, workers or num_cores()
        return
    if kind != "dask":
        raise ConfigurationError(
            f"--executor {executor}: must be processes, dask or dask=ADDRESS. Leave it out."
        )
    try:
        from distributed import Client  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        raise ConfigurationError(
            "--executor dask: needs dask.distributed. Run pip install 'cosim[cluster]'."
        ) from None
    try:
        client = (
            Client(address, timeout=_ANSWERS_WITHIN_WALL_S)
            if address
            else Client(n_workers=workers, threads_per_worker=1)
        )
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"--executor {executor}: no scheduler answers there ({error}). Start one and give its address."
        ) from None
    with client:
        yield client.get_executor(pure=False), sum(client.nthreads().values())  # type: ignore[union-attr]
