"""Past round: what became of an edge round, as its server knows it at the end."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.jobs.cell import Clients
from cosim.jobs.job import Job


class PastRound(NamedTuple):
    """An edge round that has ended; arrays have shape (participants,).

    Attributes:
        clients: The participants, in the order of their numbers.
        job: Rounds that it belongs to, and the number of the clients' jobs.
        start_s: Instant at which it began.
        ends_s: Instant at which each participant had ended its part, or was cut.
        arrived: True for each participant whose update counts.
    """

    clients: Clients
    job: Job
    start_s: float
    ends_s: NDArray[np.float64]
    arrived: NDArray[np.bool_]

    @property
    def durations_s(self) -> NDArray[np.float64]:
        """Time that each participant was active, until its end or its cut."""
        return self.ends_s - self.start_s
