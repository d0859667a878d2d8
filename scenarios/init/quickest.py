"""Quickest: a selection rule, as an example of a part of your own."""

import numpy as np

import cosim
from cosim.configuration import at_least, knob, part


@part
class Quickest(cosim.selection.SomeClients):
    """Draws more clients than take part, and leaves the slowest of them out.

    Attributes:
        num_spare: Clients drawn besides the participants; at 0 the draw alone decides. [no source]
    """

    num_spare: int = knob(at_least(0), default=4)

    def participants(self, sim, edge, coming):
        """Clients of the draw that will have trained and sent first."""
        rng = sim.stream(edge.name, "quickest", coming.job.number)
        drawn = rng.permutation(len(coming.clients))[: self.num_participants + self.num_spare]
        clients = coming.clients.some(np.sort(drawn))
        done_s = coming.training_s(clients) + coming.upload_s(clients, among=self.num_participants)
        return clients.some(np.argsort(done_s, kind="stable")[: self.num_participants])
