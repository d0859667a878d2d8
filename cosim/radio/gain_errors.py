"""Gain errors: how far the gain that an upload meets lies from the one that a plan knows.

The known gain times 10^(X / 10), X normal with a spread in dB; and with the probability of an outage nothing
gets through. Both are redrawn in every edge round. No source: ours.
"""

import numpy as np
from numpy.typing import NDArray

from cosim.links.uplink import Job
from cosim.simulation import Simulation


class GainErrors:
    """Real over known gains of one cell's clients.

    Args:
        edge: Name of the cell's edge server.
        csi_error_db: Spread of the difference between the known gain and the real one.
        outage_probability: How often nothing of an upload gets through.
    """

    def __init__(
        self, sim: Simulation, edge: str, num_clients: int, csi_error_db: float, outage_probability: float
    ) -> None:
        self._sim, self._edge, self._num_clients = sim, edge, num_clients
        self._csi_error_db, self._outage_probability = csi_error_db, outage_probability
        self._last: tuple[Job, NDArray[np.float64]] | None = None

    def factor(self, client: int, job: Job) -> float:
        """Real over known gain of the client with this number in its cell."""
        if not (self._csi_error_db or self._outage_probability):
            return 1.0
        if self._last is None or self._last[0] != job:
            self._last = job, self._draw(job)
        return float(self._last[1][client])

    def _draw(self, job: Job) -> NDArray[np.float64]:
        error_db = self._sim.stream(self._edge, "csi error", *job).standard_normal(self._num_clients)
        outage = self._sim.stream(self._edge, "outage", *job).random(self._num_clients)
        return 10.0 ** (self._csi_error_db * error_db / 10.0) * (outage >= self._outage_probability)
