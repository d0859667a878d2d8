"""Proportional fair selection: clients whose channels are good, compared with their own average.

The rule chooses clients with the largest SNR at the beginning of the round over their own mean SNR so far:
over the rounds at whose beginning they were present, this one included. It draws among equals, so a channel
that never changes makes it uniform.

Scope and limitations: needs an uplink of which something is known, and channels that are redrawn (fading by
edge rounds). The edge server is assumed to know all SNRs of its cell in every round.

Source: Yang et al., "Scheduling policies for federated learning in wireless networks", IEEE Trans. Commun.
2020 (arXiv 1908.06287), Section II-C.
"""

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.jobs.cell import Clients, Edge
from cosim.selection.by_client import ByClient
from cosim.selection.coming_round import ComingRound
from cosim.selection.port import SomeClients


@part
class ProportionalFair(SomeClients):
    """Largest SNR over its own mean."""

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """Choose the best now, compared with their means; asks for the channel of every client."""
        clients, num = coming.clients, len(edge.clients)
        snr, own = coming.known_snr(clients), clients.places_in(edge.clients)
        known = edge.kept.setdefault(self, ByClient(num_rounds=0, mean=0.0))
        places = known.places(clients)
        known["num_rounds"][places] += 1
        known["mean"][places] += (snr - known["mean"][places]) / known["num_rounds"][places]
        chance = sim.stream(edge.name, "participants", coming.job.number).random(num)[own]
        return clients.some(np.lexsort((chance, -snr / known["mean"][places]))[: self.num_participants])
