"""Cell training: the port of what one cell does from the model that it gets until it sends one back."""

from abc import ABC, abstractmethod

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Lack, Port, part, said_of
from cosim.configuration.going_together import COMMON_ROUNDS, EVERY_UPDATE_ASKED, MEANS, ONE_BY_ONE_ASKED
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.values.pending import PendingModel
from cosim.values.submodels import Part
from cosim.waiting.port import WaitForAll, Waiting


@part
class CellTraining(Port, ABC):
    """What one cell does from the model that it gets until it sends one back."""

    lacks = (Lack(MEANS), Lack(COMMON_ROUNDS))
    asks = (EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED)
    claims = said_of(num_jobs=("play",))

    @property
    def waiting(self) -> Waiting:
        """How long its edge server waits for clients."""
        return WaitForAll()

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
