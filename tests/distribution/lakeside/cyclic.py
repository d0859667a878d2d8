"""Cyclic: the model travels from cell to cell."""

import cosim
from cosim.configuration import configuration


@configuration
class Cyclic(cosim.Protocol):
    """In every global round one cell after the other trains the model that the last one has left.

    Attributes:
        training: What a cell does in a global round.
    """

    training: cosim.EdgeTraining = cosim.EdgeTraining(num_edge_rounds=1)

    @property
    def waiting(self):
        """As the cells wait."""
        return self.training.waiting

    def check(self, cloud):
        """Refuse a network that the clients cannot train."""
        self.training.check(cloud)

    def play(self, sim, cloud):
        """All global rounds."""
        model = cloud.initial_model(sim)
        for global_round in range(1, self.num_global_rounds + 1):
            start_s = sim.now_s
            for edge in cloud.edges:
                model = yield from self.training.play(sim, cloud, edge, model, None, global_round)
            model = cloud.close_round(sim, global_round, start_s, model)
        return model
