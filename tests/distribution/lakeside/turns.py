"""Turns: a selection rule."""

import cosim
from cosim.configuration import configuration


@configuration
class Turns(cosim.EdgeTraining):
    """The clients of a cell take turns, as many at a time as take part."""

    def participants(self, sim, edge, coming):
        """The next ones."""
        number = (coming.global_round - 1) * self.num_edge_rounds + coming.edge_round
        first = number * self.num_participants
        return [edge.clients[(first + i) % len(edge.clients)] for i in range(self.num_participants)]
