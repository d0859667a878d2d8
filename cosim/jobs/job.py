"""Job: what a client is asked to do once, and which clients of a cell."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64] | slice
"""Places of clients in a cell."""


class Job(NamedTuple):
    """One task of a client, in an edge round or beside rounds: receive, train, send.

    Attributes:
        global_round: Number of the global round, from 1; `NO_ROUND` if there is none, as for the edge round.
        number: Number of the edge round since the start, from 0, or of the client's own job.
    """

    global_round: int
    edge_round: int
    number: int

    @classmethod
    def of_round(cls, global_round: int, edge_round: int, num_edge_rounds: int) -> "Job":
        """Job of every participant in an edge round; global rounds are counted from 1, edge rounds from 0."""
        return cls(global_round, edge_round, (global_round - 1) * num_edge_rounds + edge_round)
