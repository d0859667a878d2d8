"""Past round: what became of an edge round, as its server knows it when the round has ended."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.jobs.cell import Clients
from cosim.jobs.job import Job


class PastRound(NamedTuple):
    """An edge round that has ended; arrays have shape (participants,).

    Attributes:
        clients: Who took part, in the order of their numbers.
        job: Which rounds they were, and the number of the clients' jobs.
        start_s: When it began.
        ends_s: When each had ended its part, or was cut.
        arrived: Whose update counts.
    """

    clients: Clients
    job: Job
    start_s: float
    ends_s: NDArray[np.float64]
    arrived: NDArray[np.bool_]

    @property
    def durations_s(self) -> NDArray[np.float64]:
        """How long each was at work; of who was cut, until then."""
        return self.ends_s - self.start_s
