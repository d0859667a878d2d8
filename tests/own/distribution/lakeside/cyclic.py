"""Cyclic: the model travels from cell to cell."""

import cosim
from cosim.configuration import part


@part
class Cyclic(cosim.Protocol):
    """In every global round one cell after the other trains the model that the last one has left.

    Attributes:
        training: What a cell does in a global round.
    """

    training: cosim.EdgeTraining = cosim.EdgeTraining(num_edge_rounds=1)

    @property
    def waiting(self):
        """Number wanted, as the cells wait."""
        return self.training.waiting

    def check(self, cloud):
        """Refuse a network that the clients cannot train."""
        self.training.check(cloud)

    def run(self, sim, cloud):
        """Global rounds until the run is over."""

        def one_round(model, number):
            for edge in cloud.edges:
                model = yield from self.training.run(sim, cloud, edge, model, None, number)
            return model

        return cloud.global_rounds(sim, one_round)
