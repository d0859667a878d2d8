"""Ending: when an edge round ends and which updates count, by a rule of waiting in numbers."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import deadline_after
from cosim.clock.small_arrays import most_of
from cosim.waiting.port import Waiting


class Ending(NamedTuple):
    """How an edge round ends.

    Attributes:
        end_s: When; clients that have not ended by then are cut.
        counts: Whose update counts, shape (participants,).
        reason: Why the others' do not, but for uploads that were given up.
    """

    end_s: float
    counts: NDArray[np.bool_]
    reason: str


def ending_of(
    rule: Waiting, start_s: float, arrives_s: NDArray[np.float64], gives_up_s: NDArray[np.float64] | None
) -> Ending:
    """How an edge round ends by a rule of numbers, as its `wait` would have it.

    Args:
        arrives_s: When each update would arrive, in the order of their clients, shape (participants,).
        gives_up_s: When each upload is given up. None means never.
    """
    ends_s = arrives_s
    if gives_up_s is not None:
        ends_s = np.minimum(arrives_s, gives_up_s)
        arrives_s = np.where(arrives_s <= gives_up_s, arrives_s, np.inf)
    end_s, counts, num_wanted = max(most_of(ends_s), start_s), None, rule.num_wanted
    if num_wanted is not None:
        first = np.argsort(arrives_s, kind="stable")[:num_wanted]
        counts = np.zeros(len(arrives_s), dtype=bool)
        counts[first] = True
        if len(first) == num_wanted and arrives_s[first[-1]] < math.inf:
            end_s = max(arrives_s[first[-1]], start_s)
    if rule.deadline_s < math.inf:
        end_s = min(end_s, deadline_after(start_s, rule.deadline_s))
    has_arrived = arrives_s <= end_s
    num_arrived = 0 if num_wanted is None else int(np.count_nonzero(has_arrived))
    counts = has_arrived if counts is None else counts & has_arrived
    return Ending(float(end_s), counts, rule.reason(num_arrived))
