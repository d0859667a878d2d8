"""Upload: what is on its way on a clock, and those of an edge round as arrays. A download is one, too."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cosim.instants import instant_after
from cosim.simulation import Event, Simulation


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


class SteadyUpload(Upload):
    """An upload at one rate that nothing changes; it never ends where that is 0.

    Args:
        wait_s: How long the client waits before it sends.
    """

    def __init__(self, sim: Simulation, bits: float, rate_bps: float, wait_s: float = 0.0) -> None:
        start_s = instant_after(sim.now_s, wait_s)
        self.granted = sim.at(start_s) if wait_s > 0.0 else None
        self.done = sim.event() if rate_bps == 0.0 else sim.at(instant_after(start_s, bits / rate_bps))
        self._sim, self._bits, self._rate_bps, self._start_s = sim, bits, rate_bps, start_s

    @property
    def sent_s(self) -> float:
        """How long it has been sending."""
        return max(0.0, self._sim.now_s - self._start_s)

    @property
    def bits_left(self) -> float:
        """What has not been sent by now."""
        return 0.0 if self.done.processed else max(0.0, self._bits - self._rate_bps * self.sent_s)


class Uploads(ABC):
    """Uploads of an edge round as arrays of shape (participants,).

    Attributes:
        granted_s: When each client may begin to send; None: at once.
        ends_s: When all of it has arrived.
        stand_alone: True if one that is closed changes no other, so that each may be given up.
    """

    granted_s: NDArray[np.float64] | None = None
    ends_s: NDArray[np.float64]
    stand_alone: ClassVar[bool] = False

    @abstractmethod
    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Bits of each that have not been sent when it is closed, 0 where it has ended.

        Args:
            cut_s: When all are closed; where they stand alone also when each is.
        """


class SteadyUploads(Uploads):
    """Uploads that begin at once, each at one rate that nothing changes; infinite where that is 0.

    Args:
        begins_s: When each begins, shape (participants,).
        rate_bps: Shape (participants,).
    """

    stand_alone = True

    def __init__(self, begins_s: NDArray[np.float64], bits: float, rate_bps: NDArray[np.float64]) -> None:
        self._begins_s, self._bits, self._rate_bps = begins_s, bits, rate_bps
        if rate_bps.all():
            self.ends_s = instant_after(begins_s, bits / rate_bps)
        else:
            with np.errstate(divide="ignore"):
                self.ends_s = instant_after(begins_s, bits / rate_bps)

    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """What has not been sent at that rate."""
        left = np.maximum(0.0, self._bits - self._rate_bps * (cut_s - self._begins_s))
        return np.where(self.ends_s <= cut_s, 0.0, np.minimum(left, self._bits))
