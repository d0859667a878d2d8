"""Cohorts: client updates that one batched program trains together, and are added up by themselves.

The size of a cohort follows from a fixed working set, not from a measurement, so results do not depend on the
machine's load nor on its number of cores. On a GPU with little memory it follows from that memory, whatever
else is in it.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from cosim.values.pending import PendingUpdate

FLOAT32_BYTES = 4


class WorkingSet(NamedTuple):
    """How large a cohort may be.

    Attributes:
        num_bytes: Weights and one mini-batch of all members: on a CPU its features, on a GPU all that
            training holds of it.
        num_clients: Members.
        num_cohorts: Least number of cohorts, so that workers share a small level.
        least_call, most_call: Bytes, counted likewise, of cohorts that one call trains (`joined`): at least,
            though there are more workers, and at most.
    """

    num_bytes: int
    num_clients: int
    num_cohorts: int
    least_call: int = 0
    most_call: int = 0


WORKING_SETS = {
    "cpu": WorkingSet(4 * 2**20, num_clients=16, num_cohorts=2, least_call=2**17, most_call=2**20),
    "cuda": WorkingSet(num_bytes=8 * 2**30, num_clients=1024, num_cohorts=1),
}
"""Device to working set. CPU: the fastest in `benchmarks/learner.py` with 1 MiB of L2 cache per core, 3
clients of 784-300-10 and 10 of its quarter; a larger one leaves the cache, a smaller one makes more calls.
Joined is what takes longer to call than to compute, 10 clients of 64-32-10 with batches of 10, and, if
workers are few, what still fits the cache.
CUDA: by `benchmarks/gpu.py`, where more clients make none of its networks more than a fifth faster."""

SHARE_OF_GPU = 0.25
"""Most of a GPU's memory that a working set is: training takes 1.2 to 2.7 times as much there."""


def working_set(together: bool, device: str) -> WorkingSet:
    """How large cohorts may be: of one client each, where clients are trained one by one."""
    found = WORKING_SETS[device]
    if device == "cuda":
        import torch

        memory_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
        found = found._replace(num_bytes=min(found.num_bytes, int(SHARE_OF_GPU * memory_bytes)))
    return found if together else found._replace(num_clients=1, least_call=0, most_call=0)


def cohorts(
    updates: Iterable[PendingUpdate],
    sample_floats: int,
    working_set: WorkingSet,
    shared: Callable[[PendingUpdate], Hashable] = attrgetter("num_steps"),
    order: Callable[[PendingUpdate], Any] = attrgetter("client", "key"),
) -> Iterator[list[PendingUpdate]]:
    """Updates in cohorts, in order within each program.

    Args:
        updates: Updates whose model is settled.
        sample_floats: Numbers of a sample that count in the working set.
        working_set: How large a cohort may be.
        shared: What updates must share, beside their rule and their shapes.
        order: What they are sorted by: by name of the client.
    """
    programs: dict[Any, list[PendingUpdate]] = {}
    for update in sorted(updates, key=order):
        programs.setdefault((shapes_of(update), update.training, shared(update)), []).append(update)
    for members in programs.values():
        num_bytes = bytes_of(members[0], sample_floats)
        most = min(working_set.num_clients, working_set.num_bytes // num_bytes)
        num_cohorts = max(math.ceil(len(members) / max(1, most)), working_set.num_cohorts)
        for i in range(num_cohorts):
            cohort = members[i * len(members) // num_cohorts : (i + 1) * len(members) // num_cohorts]
            if cohort:
                yield cohort


def joined(
    found: Sequence[list[PendingUpdate]],
    sample_floats: int,
    working_set: WorkingSet,
    num_workers: int,
    shared: Callable[[PendingUpdate], Hashable],
    joins: Callable[[PendingUpdate], bool],
) -> Iterator[list[list[PendingUpdate]]]:
    """Cohorts in calls: neighbours of one program in one call, where they are small, and workers are few.

    Args:
        found: From `cohorts`, with the same arguments.
        num_workers: Threads that calls are for.
        joins: True if an update gets the same bits, whatever is trained beside it.
    """
    sizes = [len(cohort) * bytes_of(cohort[0], sample_floats) for cohort in found]
    share = math.ceil(len(sizes) / num_workers) * max(sizes, default=0)
    most = min(max(share, working_set.least_call), working_set.most_call)
    call: list[list[PendingUpdate]] = []
    program: Any = None
    num_bytes = 0
    for cohort, more_bytes in zip(found, sizes, strict=True):
        first, before = cohort[0], program
        program = shapes_of(first), first.training, shared(first)
        num_bytes += more_bytes
        if call and (program != before or num_bytes > most or not joins(first)):
            yield call
            call, num_bytes = [], more_bytes
        call.append(cohort)
    if call:
        yield call


def shapes_of(update: PendingUpdate) -> tuple[tuple[int, ...], ...]:
    """Shapes of the tensors from which an update starts; its model is settled."""
    return tuple(tuple(values.shape) for values in update.model.settled.values())


def bytes_of(update: PendingUpdate, sample_floats: int) -> int:
    """Bytes of an update that count in the working set."""
    num_floats = sum(map(math.prod, shapes_of(update))) + update.training.batch_size * sample_floats
    return FLOAT32_BYTES * num_floats
