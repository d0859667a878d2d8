"""Job: what a client is asked to do once, and which clients of a cell."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64] | slice
"""Which clients of a cell."""


class Job(NamedTuple):
    """What a client is asked to do once.

    Attributes:
        global_round: From 1; `NO_ROUND` where it belongs to none, as the edge round.
        number: Of the edge rounds since the start, from 0, or of the client's own jobs.
    """

    global_round: int
    edge_round: int
    number: int

    @classmethod
    def of_round(cls, global_round: int, edge_round: int, num_edge_rounds: int) -> "Job":
        """Everybody's in an edge round; global rounds are counted from 1, edge rounds from 0."""
        return cls(global_round, edge_round, (global_round - 1) * num_edge_rounds + edge_round)
