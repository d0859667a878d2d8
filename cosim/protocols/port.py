"""Protocol: the port of those who decide who works when, and what the server makes of what arrives.

Usage::

    @part
    class FedAvg(Protocol):
        \"\"\"Federated averaging in one cell, with everybody.\"\"\"

        training: EdgeTraining = EdgeTraining(num_edge_rounds=1)

        @property
        def waiting(self):
            return self.training.waiting

        def play(self, sim, cloud):
            def one_round(model, number):
                return self.training.play(sim, cloud, cloud.edges[0], model, None, number)

            return cloud.global_rounds(sim, one_round)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Lack, Port, part, said_of
from cosim.configuration.going_together import COMMON_ROUNDS, EVERY_UPDATE_ASKED, MEANS, ONE_BY_ONE_ASKED
from cosim.devices.load import Load
from cosim.protocols.servers import Cloud
from cosim.waiting.port import WaitForAll, Waiting


@part
class Protocol(Port, ABC):
    """Who works when, and what the server makes of what arrives.

    Unless a class says otherwise (`asks`, `lacks`), it needs updates one by one, no edge server takes their
    mean, and its rounds are played by events.
    """

    claims = said_of(jobs_per_round=("play",))
    lacks = (Lack(MEANS), Lack(COMMON_ROUNDS))
    asks = (EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED)

    @property
    def waiting(self) -> Waiting:
        """How long its servers wait in an edge round."""
        return WaitForAll()

    def jobs_per_round(self, cell_sizes: Sequence[int]) -> int | None:
        """Local rounds of clients in a global round; None: nobody knows beforehand."""
        return None

    def loads(self, cloud: Cloud) -> Sequence[Load]:
        """What the clients of each cell train, of the first global round where that changes."""
        return [cloud.workload.of()] * len(cloud.edges)

    def check(self, cloud: Cloud) -> None:
        """Refuse what these nodes cannot play, before the clock starts.

        Raises:
            ConfigurationError: What it is, and the usual fix.
        """

    @abstractmethod
    def play(self, sim: Simulation, cloud: Cloud) -> Process:
        """The whole run; returns the global model."""
