"""Gain errors: differences between the gain of an upload and the gain that a plan knows.

The gain is the known one times 10^(X / 10), X normal with a spread in dB; with the probability of an outage
it is 0. Both are drawn for every job. No source.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import BLOCK, BlockRows, Draws, Numbers, draws_of_block, normals, uniforms
from cosim.jobs.job import Job


class GainErrors:
    """Ratios of actual to known gains.

    Args:
        csi_error_db: Spread of the difference between the known gain and the actual one.
        outage_probability: Probability that nothing of an upload gets through.
    """

    def __init__(self, sim: Draws, csi_error_db: float, outage_probability: float) -> None:
        self._sim, self._csi_error_db, self._outage_probability = sim, csi_error_db, outage_probability
        self._factors = BlockRows(self._of_block)

    def factors(self, clients: Numbers | str, job: Job) -> Any:
        """Ratios of actual to known gains in a job, shape (clients,), or of one client; 1 if all are 1."""
        if not (self._csi_error_db or self._outage_probability):
            return 1.0
        return self._factors.of(clients, job.number)

    def _of_block(self, kind: str, block: int, job: int) -> NDArray[np.float64]:
        found = np.ones(BLOCK)
        if self._csi_error_db:
            drawn = draws_of_block(self._sim, kind, block, "csi error", normals, job)
            found = np.array([10.0 ** (self._csi_error_db * x / 10.0) for x in drawn.tolist()])
        if self._outage_probability:
            drawn = draws_of_block(self._sim, kind, block, "outage", uniforms, job)
            found = found * (drawn >= self._outage_probability)
        return found
