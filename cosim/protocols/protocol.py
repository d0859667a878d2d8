"""Protocol: the port of those who decide who works when, and what the server makes of what arrives.

Usage::

    @configuration
    class FedAvg(Protocol):
        \"\"\"Federated averaging in one cell: rounds until the end, with everybody.\"\"\"

        training: EdgeTraining = EdgeTraining(num_edge_rounds=1)

        def play(self, sim, cloud):
            model = cloud.initial_model(sim)
            for number in range(1, self.num_global_rounds + 1):
                start_s = sim.now_s
                model = yield from self.training.play(sim, cloud, cloud.edges[0], model, None, number)
                model = cloud.close_round(sim, number, start_s, model)
            return model
"""

from abc import ABC, abstractmethod

from cosim.configuration import Port, at_least, configuration, field
from cosim.servers.cloud import Cloud
from cosim.simulation import Process, Simulation


@configuration
class Protocol(Port, ABC):
    """Who works when, and what the server makes of what arrives.

    Attributes:
        num_global_rounds: Global rounds. [no source]
    """

    num_global_rounds: int = field(at_least(1), default=10)

    @property
    def gives_up(self) -> bool:
        """Whether an update that never comes is given up; else a link that loses updates is refused."""
        return False

    @property
    def takes_sums(self) -> bool:
        """Whether the mean of a cell's updates is enough; else a link that adds them up is refused."""
        return False

    @property
    def plans_times(self) -> bool:
        """Whether it plans how long jobs take; then a downlink that takes time is refused."""
        return False

    @property
    def least_round_s(self) -> float:
        """How long an edge round lasts at least."""
        return 0.0

    def check(self, cloud: Cloud) -> None:
        """Refuse what these nodes cannot play, before the clock starts.

        Raises:
            ConfigurationError: What it is, and the usual fix.
        """

    @abstractmethod
    def play(self, sim: Simulation, cloud: Cloud) -> Process:
        """The whole run; returns the global model."""
