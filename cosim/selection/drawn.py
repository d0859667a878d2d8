"""Drawn selection: clients at random or in turns, regardless of their properties."""

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.jobs.cell import Clients, Edge
from cosim.selection.coming_round import ComingRound
from cosim.selection.port import SomeClients, drawn


@part
class Uniform(SomeClients):
    """A uniform draw.

    Attributes:
        num_participants: Number of clients of a cell that take part in an edge round; all present clients if
            there are fewer. [HIST journal, Section VI-B: n']
    """

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        return edge.participants(sim, self.num_participants)


@part
class BySamples(SomeClients):
    """Draws one after the other without replacement, in proportion to numbers of samples. [no source]

    A client with many samples is drawn often, so updates should have equal weights (`Mean`).
    """

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """Draw participants; asks every client for its samples."""
        rng, clients = sim.stream(edge.name, "participants", coming.job.number), coming.clients
        return clients.some(drawn(rng, coming.num_samples(clients), self.num_participants))


@part
class RoundRobin(SomeClients):
    """Turns by number: the next clients that are present after the last one chosen.

    [Yang et al., arXiv 1908.06287, Section II-C]
    """

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        first, clients = edge.kept.get(self, 0), coming.clients
        has_had_its_turn = clients.numbers < first
        chosen = np.argsort(has_had_its_turn, kind="stable")[: self.num_participants]
        edge.kept[self] = clients[int(chosen[-1])].number + 1
        return clients.some(chosen)
