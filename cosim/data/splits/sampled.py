"""Sampled: every client draws its samples from the whole training set, with replacement.

So several clients may hold the same sample, and the population may be larger than the data set. A client's
samples are drawn on demand, from a stream of its own name: a client that never takes part costs nothing, and
another client changes no samples.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import at_least, knob, part
from cosim.data.dataset import Dataset
from cosim.data.splits.port import Samples, Split
from cosim.names import client_name


@part
class Sampled(Split):
    """A number of samples for each client, drawn with replacement.

    Attributes:
        num_samples: Number of samples of each client. [no source]
    """

    num_samples: int = knob(at_least(1), default=100)

    @override
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        """Draws of the clients, each made on demand and always the same."""
        return _Draws(sim, dataset.num_sample_numbers, self.num_samples, sum(cell_sizes))


class _Draws(Sequence[Samples]):
    """Samples of every client by its number."""

    def __init__(self, sim: Simulation, num_choices: int, num_samples: int, num_clients: int) -> None:
        self._sim, self._num_choices, self._num_samples = sim, num_choices, num_samples
        self._numbers = range(num_clients)

    @override
    def __len__(self) -> int:
        return len(self._numbers)

    @override
    def __getitem__(self, index: Any) -> Any:
        rng = self._sim.stream(client_name(self._numbers[index]), "samples", 0)
        return np.sort(rng.integers(self._num_choices, size=self._num_samples))
