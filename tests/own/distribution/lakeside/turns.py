"""Turns: a selection rule."""

import cosim
from cosim.configuration import part


@part
class Turns(cosim.selection.SomeClients):
    """The clients of a cell take turns, as many at a time as take part."""

    def participants(self, sim, edge, coming):
        """The next ones."""
        first = coming.job.number * self.num_participants
        return [edge.clients[(first + i) % len(edge.clients)] for i in range(self.num_participants)]
