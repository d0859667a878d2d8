"""Proportional fair selection: clients whose channels are good, for them.

Those of the largest SNR at the beginning of the round over their own mean SNR so far, in the rounds at whose
beginning they were there, this one included. Of
equals it draws, so a channel that never changes makes it uniform.

Scope and limitations: needs an uplink of which something is known, and channels that are redrawn (fading by
edge rounds). The edge server is taken to know all SNRs of its cell in every round.

Source: Yang et al., "Scheduling policies for federated learning in wireless networks", IEEE Trans. Commun.
2020 (arXiv 1908.06287), Section II-C.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import configuration
from cosim.devices.cell import Clients, Edge
from cosim.selection.coming_round import ComingRound
from cosim.selection.selection import SomeClients
from cosim.simulation import Simulation


class _Known(NamedTuple):
    """Mean SNR so far, and of how many rounds, shape (cell's clients,)."""

    mean: NDArray[np.float64]
    num_rounds: NDArray[np.int64]


@configuration
class ProportionalFair(SomeClients):
    """Largest SNR over its own mean."""

    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """The best now, for them; asks for the channel of every client."""
        clients, num = coming.clients, len(edge.clients)
        snr, own = coming.known_snr(clients), clients.places_in(edge.clients)
        known = edge.kept.setdefault(self, _Known(np.zeros(num), np.zeros(num, dtype=np.int64)))
        known.num_rounds[own] += 1
        known.mean[own] += (snr - known.mean[own]) / known.num_rounds[own]
        chance = sim.stream(edge.name, "participants", coming.job.number).random(num)[own]
        return clients.some(np.lexsort((chance, -snr / known.mean[own]))[: self.num_participants])
