"""Asynchronous protocols: a server that applies updates while other clients are still working.

The server is the cloud's, with the clients of all cells or with whole cells (`trainers`); or, in an
`AsynchronousTraining`, it is the edge server of a cell.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Lack, part
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.configuration.port import Picture
from cosim.protocols.asynchronous.rule import Arrival
from cosim.protocols.asynchronous.starts import Restarts, Starts
from cosim.protocols.asynchronous.trainers import ClientTraining, Trainers
from cosim.protocols.port import Protocol
from cosim.protocols.servers import Cloud
from cosim.values.pending import PendingModel
from cosim.waiting.port import Waiting


@part
class Asynchronous(Protocol, ABC):
    """Base of the protocols with a server that applies updates while other clients are still working.

    Attributes:
        training: Trainers, and their work in a job.
        starts: Rule that starts jobs. [no source: every client, again and again]
    """

    lacks = (Lack(GLOBAL_ROUNDS, at="protocol"),)
    asks = ()

    training: Trainers = ClientTraining()
    starts: Starts = Restarts()

    @override
    def pictures(self) -> tuple[Picture, ...]:
        return "staleness", "contributions"

    @property
    @override
    def waiting(self) -> Waiting:
        return self.training.waiting

    @property
    def period_s(self) -> float | None:
        """Time between versions; None means that `is_due` decides."""
        return None

    def is_due(self, num_waiting: int) -> bool:
        """True if this number of updates makes a version."""
        return False

    @abstractmethod
    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """Next version, and the weight of each update in it.

        Args:
            arrivals: Updates in the order of their arrival, at least one.
            num_clients: Number of trainees that may be given jobs.
        """

    @override
    def check(self, cloud: Cloud) -> None:
        self.training.check(cloud)
        self.starts.check(len(self.training.of(cloud, cloud.edges, self.starts)))

    @override
    def run(self, sim: Simulation, cloud: Cloud) -> Process:
        trainees = self.training.of(cloud, cloud.edges, self.starts)
        server = cloud.asynchronous_server(sim, cloud.name, self, cloud.initial_model(sim), trainees)
        return (yield from server.serve(lambda: cloud.is_over, ends_anyway=cloud.end.latest_s is not None))
