"""Gain errors: how far the gain that an upload meets lies from the one that a plan knows.

The known gain times 10^(X / 10), X normal with a spread in dB; and with the probability of an outage nothing
gets through. Both are drawn anew for every job. No source: ours.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.draws import Draw, Numbers, normals, uniforms
from cosim.links.link import Job
from cosim.simulation import Simulation


class GainErrors:
    """Real over known gains.

    Args:
        csi_error_db: Spread of the difference between the known gain and the real one.
        outage_probability: How often nothing of an upload gets through.
    """

    def __init__(self, sim: Simulation, csi_error_db: float, outage_probability: float) -> None:
        self._sim = sim
        self._csi_error_db, self._outage_probability = csi_error_db, outage_probability

    def factor(self, client: str, job: Job) -> float:
        """Real over known gain of a client in a job."""
        factor = 1.0
        if self._csi_error_db:
            factor = 10.0 ** (self._csi_error_db * self._draw(client, "csi error", normals, job) / 10.0)
        if self._outage_probability:
            factor *= self._draw(client, "outage", uniforms, job) >= self._outage_probability
        return factor

    def factors(self, numbers: Numbers, job: Job) -> NDArray[Any] | float:
        """Those of many clients, to the last bit."""
        factor: NDArray[Any] | float = 1.0
        if self._csi_error_db:
            drawn = self._sim.of_clients(numbers, "csi error", normals, job.number)
            factor = np.array([10.0 ** (self._csi_error_db * x / 10.0) for x in drawn.tolist()])
        if self._outage_probability:
            drawn = self._sim.of_clients(numbers, "outage", uniforms, job.number)
            factor = factor * (drawn >= self._outage_probability)
        return factor

    def _draw(self, client: str, purpose: str, draw: Draw, job: Job) -> float:
        return float(self._sim.of_client(client, purpose, draw, job.number))
