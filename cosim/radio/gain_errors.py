"""Gain errors: differences between the gain of an upload and the gain that a plan knows.

The gain is the known one times 10^(X / 10), X normal with a spread in dB; with the probability of an outage
it is 0. Both are drawn for every job. No source.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import BLOCK, Draws, Numbers, normals, uniforms
from cosim.jobs.job import Job


class GainErrors:
    """Ratios of actual to known gains.

    Args:
        csi_error_db: Spread of the difference between the known gain and the actual one.
        outage_probability: Probability that nothing of an upload gets through.
    """

    def __init__(self, sim: Draws, csi_error_db: float, outage_probability: float) -> None:
        self._sim, self._sizes = sim, (csi_error_db, outage_probability)

    def factors(self, clients: Numbers | str, job: Job) -> Any:
        """Ratios of actual to known gains in a job, shape (clients,), or of one client; 1 if all are 1."""
        if not any(self._sizes):
            return 1.0
        return self._sim.rows(clients, _factors, *self._sizes, job.number)


def _factors(
    sim: Draws, kind: str, block: int, csi_error_db: float, outage_probability: float, job: int
) -> NDArray[np.float64]:
    """Ratios of a block of clients."""
    found = np.ones(BLOCK)
    if csi_error_db:
        drawn = sim.block(kind, block, "csi error", normals, job)
        found = np.array([10.0 ** (csi_error_db * x / 10.0) for x in drawn.tolist()])
    if outage_probability:
        found = found * (sim.block(kind, block, "outage", uniforms, job) >= outage_probability)
    return found
