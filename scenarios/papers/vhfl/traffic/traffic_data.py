"""Traffic data: the next throughput of a cell, from observations of the cell and of the server.

Samples: `traffic_samples`.
"""

from abc import ABC

from typing_extensions import override

from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.split_data import SplitData
from cosim.data.splits.natural import Natural
from cosim.data.splits.port import Split
from scenarios.papers.vhfl.traffic.traffic import TrafficTable
from scenarios.papers.vhfl.traffic.traffic_samples import samples


@part
class TrafficData(SplitData, ABC):
    """Traffic of cells, one client each or dealt.

    Attributes:
        global_features: True if samples include the server's observations. [VHFL, Section V-B]
        split: Rule that deals the samples to clients. [VHFL, Section V-A: a cell's to its client]
    """

    global_features: bool = True
    split: Split = Natural()

    @property
    @override
    def has_classes(self) -> bool | None:
        return False

    def dataset_of(self, name: str, table: TrafficTable) -> Dataset:
        """Samples of a table.

        Args:
            name: Name of the data set in tables.
        """
        found = samples(table) if self.global_features else samples(table).without_global_features()
        return Dataset(
            name=name,
            train_x=found.train_x,
            train_y=found.train_y,
            test_x=found.test_x,
            test_y=found.test_y,
            num_classes=None,
            num_global_features=found.num_global_features,
            train_owners=found.train_cells,
        )
