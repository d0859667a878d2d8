"""Natural: every client has the samples that arise at it."""

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.data.dataset import Dataset
from cosim.data.splits.port import Samples, Split


@part
class Natural(Split):
    """Samples that stay where they arise, such as the traffic of a cell."""

    @property
    @override
    def needs_owners(self) -> bool:
        return True

    @override
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        """Deal the samples of the first owner to the first client, and so on."""
        owners, num_clients = dataset.train_owners, sum(cell_sizes)
        assert owners is not None
        num_owners = int(owners.max()) + 1
        if num_owners != num_clients:
            raise ConfigurationError(
                f"System.num_clients = {num_clients}: the samples of {dataset.name!r} arise at "
                f"{num_owners} places, each of which is a client. Use num_clients = {num_owners}, data "
                "of as many places, or the split Iid.",
                "System.num_clients",
            )
        return [np.flatnonzero(owners == number) for number in range(num_owners)]
