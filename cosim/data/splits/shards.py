"""Shards: clients with samples of a few labels, over all cells alike or within each.

Samples are sorted by label, equal labels by index, and cut into clients x per_client shards, which are dealt
to the clients at random; the content of a shard is the same in every run. `CellIid` first gives every cell a
uniformly random part of the samples, in proportion to its clients, to within one, and then does the same in
each cell.

Source: HIST conference paper, Section V-A, cases (i) and (ii); two shards per client as there.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import at_least, knob, part
from cosim.data.dataset import Dataset
from cosim.data.splits.port import Samples, Split, check_enough, labels_of, partition_stream


@part
class Shards(Split):
    """Few labels per client: fully non-i.i.d. data.

    Attributes:
        per_client: Shards of the samples sorted by label that each client is dealt. [HIST conference, Section
            V-A]
    """

    per_client: int = knob(at_least(1), default=2)

    @property
    @override
    def needs_classes(self) -> bool:
        return True

    @override
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        _check_shards(dataset, sum(cell_sizes), self.per_client)
        labels = labels_of(dataset)
        everything = np.arange(len(labels), dtype=np.int64)
        return _hands(everything, labels, sum(cell_sizes), self.per_client, partition_stream(sim))


@part
class CellIid(Split):
    """Similar cells, with few labels per client inside each.

    Attributes:
        per_client: Shards of a cell's samples sorted by label that each client is dealt. [HIST conference,
            Section V-A]
    """

    per_client: int = knob(at_least(1), default=2)

    @property
    @override
    def needs_classes(self) -> bool:
        return True

    @override
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        _check_shards(dataset, sum(cell_sizes), self.per_client)
        labels, rng = labels_of(dataset), partition_stream(sim)
        ends = np.cumsum(cell_sizes) * len(labels) // sum(cell_sizes)
        cells = np.split(rng.permutation(np.arange(len(labels), dtype=np.int64)), ends[:-1])
        return [
            samples
            for cell, size in zip(cells, cell_sizes, strict=True)
            for samples in _hands(np.sort(cell), labels, size, self.per_client, rng)
        ]


def _check_shards(dataset: Dataset, num_clients: int, per_client: int) -> None:
    num_shards = num_clients * per_client
    hands = f"{num_clients} clients x {per_client} shards per client = {num_shards} shards"
    check_enough(dataset, num_shards, hands)


def _hands(
    samples: Samples, labels: NDArray[np.int64], num_clients: int, per_client: int, rng: np.random.Generator
) -> list[Samples]:
    by_label = samples[np.argsort(labels[samples], kind="stable")]
    shards = np.array_split(by_label, num_clients * per_client)
    hands = rng.permutation(len(shards)).reshape(num_clients, per_client)
    return [np.sort(np.concatenate([shards[shard] for shard in hand])) for hand in hands]
