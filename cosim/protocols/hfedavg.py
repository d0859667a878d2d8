"""HFedAvg: hierarchical federated averaging.

In every global round each cell trains the whole model (`edge_training`) and the cloud takes the mean of the
edge models, equal weights for all cells (HIST journal paper, eq. 1). Plain FedAvg is one cell with one edge
round.

Scope and limitations: the cloud waits for every cell; cells of different size have equal weights.

Source: Liu et al., "Hierarchical federated learning with quantization", IEEE Trans. Wireless Commun. 2022,
as the HIST journal paper uses it (Section VI-B).
"""

from typing import Any

from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import asks_in, part, refuse
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.protocols.combinations import mean_of_models
from cosim.protocols.hierarchical import Hierarchical
from cosim.protocols.servers import Cloud
from cosim.server_updates.means import Mean
from cosim.server_updates.port import ServerUpdate
from cosim.values.pending import PendingModel


@part
class HFedAvg(Hierarchical):
    """Hierarchical federated averaging.

    Attributes:
        server: The rule by which the cloud moves its model, towards the mean of the edge models. [HIST
            journal, eq. 1: their mean]
    """

    server: ServerUpdate = Mean()

    @override
    def fit(self, system: Any) -> None:
        """Refuse a rule that needs updates one by one: the cloud gets a model of each cell."""
        if asks_in(self.server, ONE_BY_ONE):
            kind = type(self.server).__name__
            rule = (
                f"{kind} needs the updates of clients one by one, but the cloud gets one model from each cell"
            )
            raise refuse("HFedAvg", "server", kind, rule, "Use Mean, or set EdgeTraining.server instead.")

    @override
    def global_round(self, sim: Simulation, cloud: Cloud, model: PendingModel, number: int) -> Process:
        """Train every cell, and move the cloud's model; returns the next global model."""
        cells = [self.training.run(sim, cloud, edge, model, None, number) for edge in cloud.edges]
        received = mean_of_models((yield from sim.together(cells)))
        return cloud.moved(sim, self.server, model, received, number)
