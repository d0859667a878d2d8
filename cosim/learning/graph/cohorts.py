"""Cohorts: client updates that one batched program trains together.

The size of a cohort follows from a fixed working set, not from a measurement, so results do not depend on the
machine's load nor on its number of cores.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from torch import nn

from cosim.learning.graph.pending import PendingUpdate
from cosim.learning.network.dropout import dropping_layers

FLOAT32_BYTES = 4
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class WorkingSet(NamedTuple):
    """How large a cohort may be.

    Attributes:
        num_bytes: Weights and one mini-batch of all members.
        num_clients: Members.
        num_cohorts: Least number of cohorts, so that workers share a small level.
    """

    num_bytes: int
    num_clients: int
    num_cohorts: int


WORKING_SETS = {
    "cpu": WorkingSet(num_bytes=4 * 2**20, num_clients=16, num_cohorts=2),
    "cuda": WorkingSet(num_bytes=2**30, num_clients=1024, num_cohorts=1),
}
"""Device to working set. CPU: the fastest in `benchmarks/learner.py` with 1 MiB of L2 cache per core, 3
clients of 784-300-10 and 10 of its quarter; a larger one leaves the cache, a smaller one makes more calls.
CUDA: no source."""


def working_set(network: nn.Module, device: str) -> WorkingSet:
    """How large the cohorts of a network may be.

    On a CPU dense layers gain from being trained together. Convolutions with weights of their own for every
    client are slower together, and where layers are frozen most of the work is one client's batch times
    common weights; such networks are trained client by client (benchmarks/submodels.py). So are those with
    dropout, on every device, because masks are of one client.
    """
    largest = WORKING_SETS[device]
    if dropping_layers(network):
        return largest._replace(num_clients=1)
    convolves = any(isinstance(layer, CONVOLUTIONS) for layer in network.modules())
    freezes = any(not p.requires_grad for p in network.parameters())
    return largest._replace(num_clients=1) if device == "cpu" and (convolves or freezes) else largest


def cohorts(
    updates: Iterable[PendingUpdate],
    num_features: int,
    working_set: WorkingSet,
    shared: Callable[[PendingUpdate], Hashable] = attrgetter("num_steps"),
    order: Callable[[PendingUpdate], Any] = attrgetter("client", "key"),
) -> Iterator[list[PendingUpdate]]:
    """Updates in cohorts, in order within each program.

    Args:
        updates: Updates whose start is settled.
        num_features: Features of a sample.
        working_set: How large a cohort may be.
        shared: What updates must share, beside their rule and their shapes.
        order: What they are sorted by: by name of the client.
    """
    programs: dict[Any, list[PendingUpdate]] = {}
    for update in sorted(updates, key=order):
        shapes = tuple(tuple(values.shape) for values in update.start.settled.values())
        programs.setdefault((shapes, update.training, shared(update)), []).append(update)
    for (shapes, training, _), members in programs.items():
        num_floats = sum(map(math.prod, shapes)) + training.batch_size * num_features
        most = min(working_set.num_clients, working_set.num_bytes // (FLOAT32_BYTES * num_floats))
        num_cohorts = max(math.ceil(len(members) / max(1, most)), working_set.num_cohorts)
        for i in range(num_cohorts):
            cohort = members[i * len(members) // num_cohorts : (i + 1) * len(members) // num_cohorts]
            if cohort:
                yield cohort
