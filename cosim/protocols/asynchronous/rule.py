"""Rule: what distinguishes the kinds of asynchronous servers."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cosim.protocols.asynchronous.changes import Change
from cosim.protocols.asynchronous.starts import Starts
from cosim.values.pending import PendingModel


class Arrival(NamedTuple):
    """An update that is about to be applied.

    Attributes:
        place: Place of its trainee among all that may be given jobs, from 0.
        staleness: Versions made since it started.
    """

    place: int
    change: Change
    staleness: int


class Rule(Protocol):
    """Rule of an asynchronous server."""

    @property
    def starts(self) -> Starts:
        """Rule that starts jobs."""
        ...

    @property
    def period_s(self) -> float | None:
        """Time between versions, for which reported trainees wait; None means that `is_due` decides."""
        ...

    def is_due(self, num_waiting: int) -> bool:
        """True if this number of updates makes a version."""
        ...

    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """Next version, and the weight of each update in it.

        Args:
            arrivals: Updates in the order of their arrival, at least one.
            num_clients: Number of trainees that may be given jobs.
        """
        ...
