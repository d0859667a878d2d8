"""Dirichlet: the clients' shares of every label are drawn from a Dirichlet distribution.

Shares are rounded to whole samples, and the samples of a label are dealt in random order, so clients differ
in size. A client left with none takes a random sample of the client that has the most. This moves at most one
sample per client; drawing again would change the distribution and, for a small concentration, never end.

Source: Yurochkin et al., "Bayesian Nonparametric Federated Learning of Neural Networks", ICML 2019.
"""

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import knob, part, positive
from cosim.data.dataset import Dataset
from cosim.data.splits.port import Samples, Split, check_enough, labels_of, partition_stream

MAX_ALPHA = 1e6


def _not_equal_shares(alpha: float) -> str | None:
    return None if alpha <= MAX_ALPHA else f"must be at most {MAX_ALPHA:g}, where shares are equal already"


@part
class Dirichlet(Split):
    """Shares of every label that are drawn from a symmetric Dirichlet distribution.

    Attributes:
        alpha: Concentration of the distribution: near 0 each label belongs to one client, 1 makes all shares
            equally likely, large values give every client an equal share of each label. [no source]
    """

    alpha: float = knob(positive, _not_equal_shares, default=0.3)

    @property
    @override
    def needs_classes(self) -> bool:
        return True

    @override
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        num_clients, labels, rng = sum(cell_sizes), labels_of(dataset), partition_stream(sim)
        check_enough(dataset, num_clients, f"{num_clients} clients")
        client_of = np.empty(len(labels), dtype=np.int64)
        for label in np.unique(labels):
            samples = rng.permutation(np.flatnonzero(labels == label))
            shares = rng.dirichlet(np.full(num_clients, self.alpha))
            ends = np.rint(np.cumsum(shares)[:-1] * len(samples)).astype(np.int64)
            client_of[samples] = np.searchsorted(ends, np.arange(len(samples)), side="right")
        sizes = np.bincount(client_of, minlength=num_clients)
        for client in np.flatnonzero(sizes == 0):
            richest = sizes.argmax()
            client_of[rng.choice(np.flatnonzero(client_of == richest))] = client
            sizes[richest] -= 1
            sizes[client] += 1
        return [np.flatnonzero(client_of == client) for client in range(num_clients)]
