"""Cell training: the port of a cell's work between receiving a model and sending one back."""

from abc import ABC, abstractmethod

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Lack, Port, part, said_of
from cosim.configuration.going_together import COMMON_ROUNDS, MEANS
from cosim.protocols.port import EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.values.pending import PendingModel
from cosim.values.submodels import Part
from cosim.waiting.port import WaitForAll, Waiting


@part
class CellTraining(Port, ABC):
    """Work of a cell between receiving a model and sending one back."""

    lacks = (Lack(MEANS), Lack(COMMON_ROUNDS))
    asks = (EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED)
    claims = said_of(num_jobs=("run",))

    @property
    def waiting(self) -> Waiting:
        """Rule for how long its edge server waits for clients."""
        return WaitForAll()

    def num_jobs(self, num_clients: int) -> int | None:
        """Most local rounds of a cell of `num_clients` in a global round; None means not known beforehand."""
        return None

    def check(self, cloud: Cloud) -> None:
        """Refuse nodes that do not suit, before the clock starts."""

    @abstractmethod
    def run(
        self,
        sim: Simulation,
        cloud: Cloud,
        edge: EdgeServer,
        model: PendingModel,
        part: Part | None,
        global_round: int,
    ) -> Process:
        """Run a global round of one cell; returns the edge model as it reaches the cloud.

        Args:
            model: Model that the cell trains: the part, or the whole model if `part` is None.
            global_round: Its number, from 1; the cell's own number, if the cloud has none.
        """
