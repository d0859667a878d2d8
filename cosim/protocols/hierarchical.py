"""Hierarchical protocols: an edge training in every cell, with a cloud above them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import part
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.port import Protocol
from cosim.protocols.servers import Cloud
from cosim.values.pending import PendingModel
from cosim.waiting.port import Waiting


@part
class Hierarchical(Protocol, ABC):
    """Base of the protocols with cells that train side by side.

    Attributes:
        training: Training of a cell in a global round.
    """

    lacks = ()
    asks = ()

    training: CellTraining = EdgeTraining()

    @property
    @override
    def waiting(self) -> Waiting:
        return self.training.waiting

    @override
    def jobs_per_round(self, cell_sizes: Sequence[int]) -> int | None:
        """Local rounds of all cells."""
        found = [self.training.num_jobs(size) for size in cell_sizes]
        return None if None in found else sum(filter(None, found))

    @abstractmethod
    def global_round(self, sim: Simulation, cloud: Cloud, model: PendingModel, number: int) -> Process:
        """Run one global round, counted from 1; returns the next global model."""

    @override
    def run(self, sim: Simulation, cloud: Cloud) -> Process:
        return cloud.global_rounds(sim, partial(self.global_round, sim, cloud))

    @override
    def check(self, cloud: Cloud) -> None:
        self.training.check(cloud)
