"""Drawn selection: clients by chance or in turns, whatever they are."""

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.jobs.cell import Clients, Edge
from cosim.selection.coming_round import ComingRound
from cosim.selection.port import SomeClients, drawn


@part
class Uniform(SomeClients):
    """Drawn uniformly.

    Attributes:
        num_participants: Clients of a cell that take part in an edge round, or all that are there where they
            are fewer. [HIST journal, Section VI-B: n']
    """

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """A draw."""
        return edge.participants(sim, self.num_participants)


@part
class BySamples(SomeClients):
    """Drawn one after the other without replacement, by numbers of samples. [no source]

    Who has many is drawn often, so their updates should weigh the same (`Mean`).
    """

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """A draw; asks every client for its samples."""
        rng, clients = sim.stream(edge.name, "participants", coming.job.number), coming.clients
        return clients.some(drawn(rng, coming.num_samples(clients), self.num_participants))


@part
class RoundRobin(SomeClients):
    """In turns, by number: the next who are there after the last who was chosen.

    [Yang et al., arXiv 1908.06287, Section II-C]
    """

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """Those whose turn it is."""
        first, clients = edge.kept.get(self, 0), coming.clients
        has_had_its_turn = clients.numbers < first
        chosen = np.argsort(has_had_its_turn, kind="stable")[: self.num_participants]
        edge.kept[self] = clients[int(chosen[-1])].number + 1
        return clients.some(chosen)
