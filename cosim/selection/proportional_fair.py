"""Proportional fair selection: clients whose channels are good, for them.

Those of the largest SNR at the beginning of the round over their own mean SNR so far, this round included. Of
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
from cosim.devices.fleet import Clients
from cosim.selection.coming_round import ComingRound
from cosim.selection.selection import SomeClients, places
from cosim.servers.edge import EdgeServer
from cosim.simulation import Simulation


class _Known(NamedTuple):
    """Mean SNR so far, shape (clients,), and of how many rounds."""

    mean: NDArray[np.float64]
    num_rounds: int


@configuration
class ProportionalFair(SomeClients):
    """Largest SNR over its own mean."""

    def participants(self, sim: Simulation, edge: EdgeServer, coming: ComingRound) -> Clients:
        """The best now, for them; asks for the channel of every client."""
        snr = coming.known_snr(edge.clients)
        before = edge.kept.get(self, _Known(snr, 0))
        num_rounds = before.num_rounds + 1
        mean = before.mean + (snr - before.mean) / num_rounds
        edge.kept[self] = _Known(mean, num_rounds)
        chance = sim.stream(edge.name, "participants", coming.job.number).random(len(snr))
        return places(edge, np.lexsort((chance, -snr / mean))[: self.num_participants])
