"""Told round: the activities of an edge round's clients on arrays, told in order.

The methods are the same as for one client in `cosim.recording.recorder`, with an array for each number:
`spent`, `carried`, `ended`. Events are kept as rows (`cosim.recording.round_rows`) or as their sums
(`cosim.recording.round_tally`). A client whose activity would begin after it is cut has no row of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cosim.recording.history import History
    from cosim.recording.kept_rows import KeptRows

GIVEN_UP = "deadline"
"""Outcome of an upload that exceeds its time limit, as in `Simulation.with_deadline`."""


class Telling(Protocol):
    """Clients of a round: a view of all clients of a run."""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Their numbers, ascending, shape (clients,)."""
        ...

    @property
    def which(self) -> NDArray[np.int64] | slice:
        """Their numbers, as an index of arrays with one element for each client of the run."""
        ...


class Way(Protocol):
    """Uploads or downloads, one for each client of a round."""

    ends_s: NDArray[np.float64]

    def bits_left(self, cut_s: Any) -> NDArray[np.float64]:
        """Bits of each that are not through when it is closed, shape (clients,)."""
        ...


class RoundOf(NamedTuple):
    """Clients and server of a round.

    Attributes:
        num: Number of clients.
        names: Names of all clients of the run, by their numbers.
        edge: Name of the edge server.
    """

    clients: Telling
    num: int
    names: Sequence[str]
    edge: str
    global_round: int
    edge_round: int
    job: int
    start_s: float


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

    def lasts_s(self, from_s: NDArray[np.float64], to_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Duration of each client's activity between two instants, unless it is cut, shape (clients,)."""
        return np.maximum(np.minimum(to_s, self.at_s) - from_s, 0.0)


class Spent(NamedTuple):
    """Activity of each client, unless it is cut before; arrays have shape (clients,).

    Attributes:
        from_s: Instant at which each would begin.
        to_s: Instant at which each would end.
        power_w: Power of each.
    """

    of: RoundOf
    activity: str
    from_s: NDArray[np.float64]
    to_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    cut: Cut


class Carried(NamedTuple):
    """Bits that each client sends (`UP`) or receives (`DOWN`), unless it is cut before.

    Attributes:
        opens_s: Instant at which each would open its upload or download, shape (clients,).
    """

    of: RoundOf
    direction: str
    opens_s: NDArray[np.float64]
    way: Way
    bits: int
    cut: Cut


class Ended(NamedTuple):
    """End of each client's part; arrays have shape (clients,).

    Attributes:
        end_s: Instant at which the last of them has ended.
        ends_s: Instant at which each has ended.
        counts: True for each client whose update counts.
    """

    of: RoundOf
    end_s: float
    ends_s: NDArray[np.float64]
    counts: NDArray[np.bool_]
    cut: Cut


class ToldRound(ABC):
    """An edge round whose events are being told.

    Args:
        history: History that is told of it, too; None if no part reads one.
    """

    __slots__ = ("_history", "of")

    def __init__(self, of: RoundOf, history: "History | None") -> None:
        self.of, self._history = of, history

    def spent(
        self,
        activity: str,
        from_s: NDArray[np.float64],
        to_s: NDArray[np.float64],
        power_w: NDArray[np.float64],
        cut: Cut,
    ) -> None:
        """Add an activity of each client (`Spent`)."""
        spent = Spent(self.of, activity, from_s, to_s, power_w, cut)
        if self._history is not None:
            self._history.spent_by(spent)
        self._add_spent(spent)

    def carried(self, direction: str, opens_s: NDArray[np.float64], way: Way, bits: int, cut: Cut) -> None:
        """Add an upload or download of each client (`Carried`)."""
        self._add_carried(Carried(self.of, direction, opens_s, way, bits, cut))

    def ended(self, end_s: float, ends_s: NDArray[np.float64], counts: NDArray[np.bool_], cut: Cut) -> None:
        """Add the end of each client's part (`Ended`)."""
        ended = Ended(self.of, end_s, ends_s, counts, cut)
        if self._history is not None:
            self._history.ended_by(ended)
        self._add_ended(ended)

    @abstractmethod
    def keep_in(self, kept: "KeptRows", now_s: float) -> None:
        """Keep the round, now that all its events are told."""

    @abstractmethod
    def _add_spent(self, spent: Spent) -> None: ...

    @abstractmethod
    def _add_carried(self, carried: Carried) -> None: ...

    @abstractmethod
    def _add_ended(self, ended: Ended) -> None: ...
