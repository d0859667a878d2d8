"""Split: the port of the rule that deals training samples to clients.

| split | over the cells | inside a cell |
|---|---|---|
| Shards | at random | few labels per client |
| CellIid | uniform | few labels per client |
| Dirichlet | at random | label shares ~ Dirichlet |
| Iid | uniform | uniform |
| Natural | where samples arise | where samples arise |
| Sampled | uniform, with replacement | uniform, with replacement |

All but the last give every sample to exactly one client, and every client at least one sample.

Scope and limitations: only labels and owners decide, not features. If numbers do not divide evenly, clients
of `Shards` and `Iid` differ in size by one sample. (The public code of the HIST authors leaves the rest out.)

Usage::

    @part
    class FirstCome(Split):
        \"\"\"Equal parts in the order of the data set.\"\"\"

        def deal(self, sim, dataset, cell_sizes):
            return np.array_split(np.arange(len(dataset.train_y)), sum(cell_sizes))

Validation: `tests/data/test_splits.py` checks the label counts of clients and cells against the
hypergeometric and the Dirichlet distribution.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Port, part
from cosim.data.dataset import Dataset
from cosim.names import CLOUD

Samples = NDArray[np.int64]


@part
class Split(Port, ABC):
    """Rule that deals training samples to clients."""

    @property
    def needs_classes(self) -> bool:
        """True if it deals samples by their classes."""
        return False

    @property
    def needs_owners(self) -> bool:
        """True if it uses the clients at which samples arise."""
        return False

    @abstractmethod
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        """Indices of each client's training samples, at least one, int64.

        A sequence may make a client's samples on demand, as long as they are always the same.

        Args:
            sim: Simulation with named streams for random draws.
            dataset: Data set with train_y.
            cell_sizes: Number of clients in every cell; clients are numbered cell by cell.

        Raises:
            ConfigurationError: There are too few samples.
        """


def partition_stream(sim: Simulation) -> np.random.Generator:
    """Stream that deals all samples to all clients at once."""
    return sim.stream(CLOUD, "partition")


def labels_of(dataset: Dataset) -> NDArray[np.int64]:
    """Classes of the training samples."""
    assert dataset.train_y is not None
    assert dataset.num_classes is not None
    return dataset.train_y


def check_enough(dataset: Dataset, num_hands: int, hands: str) -> None:
    """Refuse fewer samples than hands that need one.

    Raises:
        ConfigurationError: There are too few samples.
    """
    if dataset.num_sample_numbers < num_hands:
        raise ConfigurationError(
            f"{dataset.num_sample_numbers} samples of {dataset.name!r} cannot be dealt to {hands}: one "
            "would be empty. Use fewer clients, fewer shards per client, a larger data set, or "
            "Sampled."
        )
