"""Told round: what the clients of an edge round on arrays did, told when the round is over.

It is as the events of one client in `cosim.recording.recorder`, with an array for each number. It is kept as
rows (`cosim.recording.many_rows`) or as a tally (`cosim.recording.round_tally`). A client whose activity
would begin after it is cut has no row of it. Arrays have shape (clients,).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cosim.engine.clients.fleet import Clients
    from cosim.jobs.job import Job
    from cosim.links.upload import Uploads

GIVEN_UP = "deadline"
"""Outcome of an upload that exceeds its time limit, as in `Simulation.with_deadline`."""


class Cut(NamedTuple):
    """Cut of the clients that have not ended.

    Attributes:
        at_s: Instant of the cut, for all clients or for each.
        reason: Reason of a cut at the end of the round.
        is_given_up: True for each client that is cut before, by its own deadline; None if none has one.
    """

    at_s: float | NDArray[np.float64]
    reason: str
    is_given_up: NDArray[np.bool_] | None = None


class Spent(NamedTuple):
    """Activity of each client, unless it is cut before.

    Attributes:
        from_s: Instant at which each would begin.
        to_s: Instant at which each would end.
        power_w: Power of each.
    """

    activity: str
    from_s: NDArray[np.float64]
    to_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    cut: Cut

    @property
    def lasts_s(self) -> NDArray[np.float64]:
        """Duration of each client's activity until its end or its cut."""
        return np.maximum(np.minimum(self.to_s, self.cut.at_s) - self.from_s, 0.0)


class Carried(NamedTuple):
    """Bits that each client sends (`UP`) or receives (`DOWN`), unless it is cut before.

    Attributes:
        opens_s: Instant at which each would open its upload or download.
    """

    direction: str
    opens_s: NDArray[np.float64]
    way: "Uploads"
    bits: int
    cut: Cut


class ToldRound(NamedTuple):
    """An edge round that is over.

    Attributes:
        edge: Name of the edge server.
        end_s: Instant at which the last client has ended.
        ends_s: Instant at which each client has ended.
        counts: True for each client whose update counts.
        cut: Cut of the others.
        rest: Sums over the clients' rest before it, where it is tallied (`Recorder.begin_round`).
    """

    clients: "Clients"
    edge: str
    job: "Job"
    start_s: float
    end_s: float
    ends_s: NDArray[np.float64]
    counts: NDArray[np.bool_]
    cut: Cut
    spans: Sequence[Spent]
    transfers: Sequence[Carried]
    rest: Mapping[str, float]

    @property
    def num_rows(self) -> int:
        """Approximate number of rows."""
        return len(self.clients) * (len(self.spans) + len(self.transfers) + 1)
