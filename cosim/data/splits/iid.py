"""Iid: every client has a uniformly random part of the samples."""

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.splits.port import Samples, Split, check_enough, partition_stream


@part
class Iid(Split):
    """Equal parts of the shuffled samples."""

    @override
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        """Deal equal parts, to within one sample."""
        num_clients, num_samples = sum(cell_sizes), dataset.num_sample_numbers
        check_enough(dataset, num_clients, f"{num_clients} clients")
        shuffled = partition_stream(sim).permutation(np.arange(num_samples, dtype=np.int64))
        return [np.sort(part) for part in np.array_split(shuffled, num_clients)]
