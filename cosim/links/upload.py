"""Upload: an upload on a clock, and the uploads of an edge round as arrays. A download is one, too."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Event


class Upload(ABC):
    """An upload under way, or a download in the other direction.

    Attributes:
        done: Event when all of it has arrived.
        granted: Event when the client may begin to send; None means at once.
        turn_over: Event when the client must stop and wait for `granted` again, another event by then; None
            means that it may send to the end. It is read when the client begins to send.
        takes_time: True if bits always take time, so that an end at the instant of the begin is a duration
            that is too short for the clock; set in the class.
    """

    takes_time: ClassVar[bool] = False
    done: Event
    granted: Event | None = None
    turn_over: Event | None = None

    @property
    @abstractmethod
    def bits_left(self) -> float:
        """Bits that have not been sent, once it is closed."""

    def close(self) -> None:  # noqa: B027
        """End it, done or not, and free what it uses."""


class Uploads(ABC):
    """Uploads of an edge round as arrays of shape (participants,).

    Attributes:
        granted_s: Instant at which each client may begin to send; None means at once.
        ends_s: Instant at which each upload has arrived completely.
        takes_time: As of `Upload`.
    """

    takes_time: ClassVar[bool] = False
    granted_s: NDArray[np.float64] | None = None
    ends_s: NDArray[np.float64]

    @abstractmethod
    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Bits of each that have not been sent when it is closed, 0 if it has ended.

        Args:
            cut_s: Instant at which all are closed; if they are independent, also one for each.
        """
