"""Upload: what is on its way on a clock, and those of an edge round as arrays. A download is one, too."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Event


class Upload(ABC):
    """An upload on its way, or a download, which goes the other way.

    Attributes:
        done: Comes when all of it has arrived.
        granted: Comes when the client may begin to send; None: it may at once.
        turn_over: Comes when the client has to stop and wait for `granted` once more, another event by then;
            None: it may send to the end. It is read when the client begins to send.
    """

    done: Event
    granted: Event | None = None
    turn_over: Event | None = None

    @property
    @abstractmethod
    def bits_left(self) -> float:
        """Bits that have not been sent, once it is closed."""

    def close(self) -> None:  # noqa: B027
        """End it, done or not, and free what it holds."""


class Uploads(ABC):
    """Uploads of an edge round as arrays of shape (participants,).

    Attributes:
        granted_s: When each client may begin to send; None: at once.
        ends_s: When all of it has arrived.
    """

    granted_s: NDArray[np.float64] | None = None
    ends_s: NDArray[np.float64]

    @abstractmethod
    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Bits of each that have not been sent when it is closed, 0 where it has ended.

        Args:
            cut_s: When all are closed; where they stand alone also when each is.
        """
