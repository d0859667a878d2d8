"""Hierarchical protocols: cells that all do an edge training, and a cloud above them."""

from abc import ABC

from cosim.configuration import configuration
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.protocol import Protocol
from cosim.servers.cloud import Cloud
from cosim.servers.waiting import Waiting


@configuration
class Hierarchical(Protocol, ABC):
    """Base of the protocols whose cells do an edge training.

    Attributes:
        training: What a cell does in a global round.
    """

    training: EdgeTraining = EdgeTraining()

    @property
    def waiting(self) -> Waiting:
        """As its cells wait."""
        return self.training.waiting

    @property
    def takes_sums(self) -> bool:
        """Means are all that a cell takes."""
        return True

    def check(self, cloud: Cloud) -> None:
        """Refuse what this network cannot play, before the clock starts."""
        self.training.check(cloud)
