"""Rule: what makes an asynchronous server one of its kind."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cosim.protocols.asynchronous.starts import Starts
from cosim.values.combinations import Change
from cosim.values.pending import PendingModel


class Arrival(NamedTuple):
    """An update that is about to be applied.

    Attributes:
        place: Which of those who may be given jobs has made it, from 0.
        staleness: Versions made since it started.
    """

    place: int
    change: Change
    staleness: int


class Rule(Protocol):
    """What makes an asynchronous server one of its kind."""

    @property
    def starts(self) -> Starts:
        """Who begins, and when."""
        ...

    @property
    def period_s(self) -> float | None:
        """Time between versions, for which those wait who have reported; None: `is_due` says when."""
        ...

    def is_due(self, num_waiting: int) -> bool:
        """Whether so many updates make a version."""
        ...

    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """The next version, and the weight of each update in it.

        Args:
            arrivals: In the order in which they came, at least one.
            num_clients: Those who may be given jobs.
        """
        ...
