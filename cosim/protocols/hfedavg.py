"""HFedAvg: hierarchical federated averaging.

In every global round each cell trains the whole model (`edge_training`) and the cloud takes the mean of the
edge models, equal weights for all cells (HIST journal paper, eq. 1). Plain FedAvg is one cell with one edge
round.

Scope and limitations: the cloud waits for every cell; cells of different size weigh the same.

Source: Liu et al., "Hierarchical federated learning with quantization", IEEE Trans. Wireless Commun. 2022,
as the HIST journal paper uses it (Section VI-B).
"""

from cosim.configuration import configuration
from cosim.learning.graph.combinations import mean_of_models
from cosim.protocols.hierarchical import Hierarchical
from cosim.servers.cloud import Cloud
from cosim.simulation import Process, Simulation


@configuration
class HFedAvg(Hierarchical):
    """Hierarchical federated averaging."""

    def play(self, sim: Simulation, cloud: Cloud) -> Process:
        """All global rounds; returns the global model."""
        model = cloud.initial_model(sim)
        for global_round in range(1, self.num_global_rounds + 1):
            start_s = sim.now_s
            cells = [self.training.play(sim, cloud, edge, model, None, global_round) for edge in cloud.edges]
            model = mean_of_models((yield from sim.together(cells)))
            model = cloud.close_round(sim, global_round, start_s, model)
        return model
