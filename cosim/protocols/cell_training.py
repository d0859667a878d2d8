"""Cell training: the port of what one cell does from the model that it gets until it sends one back."""

from abc import ABC, abstractmethod

from cosim.configuration import Port, configuration, said_of
from cosim.learning.graph.pending import PendingModel
from cosim.learning.network.submodels import Part
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.servers.waiting import WaitForAll, Waiting
from cosim.simulation import Process, Simulation


@configuration
class CellTraining(Port, ABC):
    """What one cell does from the model that it gets until it sends one back."""

    claims = said_of(plays_common_rounds=("play",), num_jobs=("play",))

    @property
    def waiting(self) -> Waiting:
        """How long its edge server waits for clients."""
        return WaitForAll()

    @property
    def takes_sums(self) -> bool:
        """Whether the mean of the cell's updates is enough; else a link that adds them up is refused."""
        return False

    @property
    def plays_common_rounds(self) -> bool:
        """Whether participants of its edge rounds differ in cycles only, which may be played on arrays."""
        return False

    @property
    def plays_edge_rounds(self) -> bool:
        """Whether clients get their jobs in edge rounds, all at once, and not one by one."""
        return True

    def num_jobs(self, num_clients: int) -> int | None:
        """Local rounds of so many clients of a cell in a global round, at most; None: nobody knows before."""
        return None

    def check(self, cloud: Cloud) -> None:
        """Refuse what these nodes cannot play, before the clock starts."""

    @abstractmethod
    def play(
        self,
        sim: Simulation,
        cloud: Cloud,
        edge: EdgeServer,
        model: PendingModel,
        part: Part | None,
        global_round: int,
    ) -> Process:
        """One cell's global round; returns the edge model as it reaches the cloud.

        Args:
            model: What the cell trains: the part, or the whole model for None.
            global_round: Its number, from 1; of the cell's own, where the cloud has none.
        """
