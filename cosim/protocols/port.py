"""Protocol: the port of the rule for a whole run: when clients work, and how the server uses their updates.

Usage::

    @part
    class FedAvg(Protocol):
        \"\"\"Federated averaging of all clients in one cell.\"\"\"

        training: EdgeTraining = EdgeTraining(num_edge_rounds=1)

        @property
        def waiting(self):
            return self.training.waiting

        def run(self, sim, cloud):
            def one_round(model, number):
                return self.training.run(sim, cloud, cloud.edges[0], model, None, number)

            return cloud.global_rounds(sim, one_round)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Ask, Lack, Port, asks_in, part, said_of
from cosim.configuration.going_together import (
    COMMON_ROUNDS,
    DOWNLOADS_APART,
    EVERY_UPDATE,
    FREE_CODING,
    KNOWN_TIMES,
    MEANS,
    ONE_BY_ONE,
)
from cosim.devices.load import Load
from cosim.protocols.servers import Cloud
from cosim.waiting.port import WaitForAll, Waiting

EVERY_UPDATE_ASKED = Ask(
    EVERY_UPDATE,
    "waits for every one",
    "a deadline",
    "no time after which updates are given up",
    lambda own: asks_in(own.waiting, EVERY_UPDATE),
)
ONE_BY_ONE_ASKED = Ask(ONE_BY_ONE, "needs them one by one", "protocol Hist or HFedAvg")
PLANS = (
    Ask(KNOWN_TIMES, "plans how long uploads take", "a protocol that does not plan"),
    Ask(DOWNLOADS_APART, "plans how long jobs take", "a protocol that does not plan"),
    Ask(FREE_CODING, "plans how long jobs take", "a protocol that does not plan"),
)
"""Requirement of a part that plans times."""


@part
class Protocol(Port, ABC):
    """Rule for a whole run: when clients work, and how the server uses their updates.

    Unless a class says otherwise (`asks`, `lacks`), it needs updates one by one, no edge server takes their
    mean, and its rounds run by events.
    """

    claims = said_of(jobs_per_round=("run",))
    lacks = (Lack(MEANS), Lack(COMMON_ROUNDS))
    asks = (EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED)

    @property
    def waiting(self) -> Waiting:
        """Rule for how long its servers wait in an edge round."""
        return WaitForAll()

    def jobs_per_round(self, cell_sizes: Sequence[int]) -> int | None:
        """Local rounds of clients in a global round; None means not known beforehand."""
        return None

    def loads(self, cloud: Cloud) -> Sequence[Load]:
        """Load of each cell's clients; if it changes, in the first global round."""
        return [cloud.workload.of()] * len(cloud.edges)

    def check(self, cloud: Cloud) -> None:
        """Refuse nodes that do not suit, before the clock starts.

        Raises:
            ConfigurationError: The nodes do not suit; the message says why and what to use.
        """

    @abstractmethod
    def run(self, sim: Simulation, cloud: Cloud) -> Process:
        """Run the whole protocol; returns the global model."""
