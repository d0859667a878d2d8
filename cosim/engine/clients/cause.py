"""Cause: what makes a client absent (`cosim.engine.clients.availability`): its presence, its battery."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosim.clock.simulation import Event


class Cause(ABC):
    """Condition for the presence of a client.

    Attributes:
        reason: Outcome of what it cuts.
        returns_by: What makes the client come back, as a noun.
    """

    reason: str
    returns_by: str

    @property
    @abstractmethod
    def is_present(self) -> bool:
        """True if it allows the client to be present at this instant."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """True if it never allows the client to be present again."""

    @abstractmethod
    def change(self) -> "Event":
        """An event at the next change of `is_present`, or before; it may never come."""
