"""Cell traffic: throughput of cells to be predicted, generated (`traffic`)."""

from pathlib import Path

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import between, knob, part
from cosim.data.dataset import Dataset
from cosim.names import CLOUD
from scenarios.papers.vhfl.traffic.traffic import Traffic, generate
from scenarios.papers.vhfl.traffic.traffic_data import TrafficData


@part
class CellTraffic(TrafficData):
    """Generated traffic of cells.

    Attributes:
        num_cells: Cells whose traffic is generated. [no source]
        traffic: Model of the traffic.
    """

    num_cells: int = knob(between(2, 1000), default=16)
    traffic: Traffic = Traffic()

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        """Traffic that follows from the run's seed; there are no files to name."""
        return self.dataset_of("traffic", generate(self.traffic, self.num_cells, sim.stream(CLOUD, "data")))
