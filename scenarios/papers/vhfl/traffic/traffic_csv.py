"""Traffic from files: throughput of cells to be predicted, measured (`table_files`)."""

from pathlib import Path

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.data.dataset import Dataset
from scenarios.papers.vhfl.traffic.table_files import read
from scenarios.papers.vhfl.traffic.traffic_data import TrafficData


@part
class TrafficCsv(TrafficData):
    """Traffic of cells from traffic.csv and neighbours.csv in --data-dir."""

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        """Load the tables from a folder that the user names."""
        if data_dir is None:
            raise ConfigurationError(
                "TrafficCsv: needs the folder that holds traffic.csv and neighbours.csv. Give "
                "--data-dir FOLDER."
            )
        table = read(data_dir / "traffic.csv", data_dir / "neighbours.csv")
        return self.dataset_of("traffic-csv", table)
