"""Test shares: each client's own part of the test set, with the classes that its training samples have.

The test samples of a class go to the clients in proportion to the training samples of the class that they
hold, in random order, rounded to whole samples cumulatively, in the order of the clients' numbers. So a share
has its client's mix of classes, whatever the split. Samples of a class that no client holds belong to no
client, and a client with few samples may get none.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.data.dataset import Dataset
from cosim.names import CLOUD

NO_CLIENT = -1


def owners_by_class(
    sim: Simulation, dataset: Dataset, samples: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Owner of each test sample, by the client's number, shape (test samples,); -1 means no client.

    Args:
        sim: Simulation with the named stream that shuffles.
        dataset: Data set of classes.
        samples: Training samples of every client.
    """
    assert dataset.train_y is not None
    assert dataset.num_classes is not None
    held = np.stack([np.bincount(dataset.train_y[own], minlength=dataset.num_classes) for own in samples])
    owners, rng = np.full(len(dataset.test_y), NO_CLIENT), sim.stream(CLOUD, "test shares")
    for label, counts in enumerate(held.T):
        found = rng.permutation(np.flatnonzero(dataset.test_y == label))
        if counts.any():
            ends = np.rint(np.cumsum(counts) / counts.sum() * len(found)).astype(np.int64)
            owners[found] = np.searchsorted(ends, np.arange(len(found)), side="right")
    return owners
