"""Told round: what the clients of an edge round on arrays do, told in the order of the story.

The verbs are those that `cosim.recording.recorder` has for one client, with an array for each number:
`spent`, `carried`, `ended`. What is told is kept as rows (`cosim.recording.round_rows`) or as their sums
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
"""The outcome of an upload that is given up after its time, as `Simulation.with_deadline` has it."""


class Telling(Protocol):
    """The clients of a round: a view of all clients of a run."""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Their numbers, ascending, shape (clients,)."""
        ...

    @property
    def which(self) -> NDArray[np.int64] | slice:
        """Their numbers, as an index of what has one element for each client of the run."""
        ...


class Way(Protocol):
    """Uploads or downloads, of one for each client of a round."""

    ends_s: NDArray[np.float64]

    def bits_left(self, cut_s: Any) -> NDArray[np.float64]:
        """Bits of each that are not through when it is closed, shape (clients,)."""
        ...


class RoundOf(NamedTuple):
    """Whose round it is.

    Attributes:
        num: How many clients.
        names: Of all clients of the run, by their numbers.
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
    """When clients are cut that have not ended.

    Attributes:
        at_s: Of all, or of each.
        reason: Why they are cut with their round.
        is_given_up: Whether each is cut before, by its own deadline; None: none has one.
    """

    at_s: float | NDArray[np.float64]
    reason: str
    is_given_up: NDArray[np.bool_] | None = None

    def lasts_s(self, from_s: NDArray[np.float64], to_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """How long each does what it would do between two instants, shape (clients,)."""
        return np.maximum(np.minimum(to_s, self.at_s) - from_s, 0.0)


class Spent(NamedTuple):
    """Something that each client does, unless it is cut before; arrays have shape (clients,).

    Attributes:
        from_s: When each would begin.
        to_s: When each would end.
        power_w: What it takes.
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
        opens_s: When each would open its upload or download, shape (clients,).
    """

    of: RoundOf
    direction: str
    opens_s: NDArray[np.float64]
    way: Way
    bits: int
    cut: Cut


class Ended(NamedTuple):
    """The end of each client's part; arrays have shape (clients,).

    Attributes:
        end_s: When the last of them has ended.
        ends_s: When each has.
        counts: Whose update counts.
    """

    of: RoundOf
    end_s: float
    ends_s: NDArray[np.float64]
    counts: NDArray[np.bool_]
    cut: Cut


class ToldRound(ABC):
    """An edge round whose story is being told.

    Args:
        history: Hears of it, too; None: no part reads it.
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
        """Each client does something (`Spent`)."""
        spent = Spent(self.of, activity, from_s, to_s, power_w, cut)
        if self._history is not None:
            self._history.spent_by(spent)
        self._add_spent(spent)

    def carried(self, direction: str, opens_s: NDArray[np.float64], way: Way, bits: int, cut: Cut) -> None:
        """Each client sends or receives (`Carried`)."""
        self._add_carried(Carried(self.of, direction, opens_s, way, bits, cut))

    def ended(self, end_s: float, ends_s: NDArray[np.float64], counts: NDArray[np.bool_], cut: Cut) -> None:
        """Each client has ended its part (`Ended`)."""
        ended = Ended(self.of, end_s, ends_s, counts, cut)
        if self._history is not None:
            self._history.ended_by(ended)
        self._add_ended(ended)

    @abstractmethod
    def keep_in(self, kept: "KeptRows", now_s: float) -> None:
        """Keep it, now that its story is told."""

    @abstractmethod
    def _add_spent(self, spent: Spent) -> None: ...

    @abstractmethod
    def _add_carried(self, carried: Carried) -> None: ...

    @abstractmethod
    def _add_ended(self, ended: Ended) -> None: ...
