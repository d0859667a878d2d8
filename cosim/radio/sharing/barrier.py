"""Barrier: uploads that begin together, when all are there, or at the last moment that leaves enough time.

Clients that come later are left out.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cosim.instants import instant_after
from cosim.links.upload import Upload, Uploads
from cosim.simulation import Event, Simulation


class Barrier:
    """That of one edge round.

    Args:
        num_expected: Clients that it waits for.
        ends_s: When the round ends at the latest.
    """

    def __init__(self, sim: Simulation, num_expected: int, ends_s: float) -> None:
        self._sim, self._num_expected, self._ends_s = sim, num_expected, ends_s
        self._members: dict[int, SummedUpload] = {}
        self._airtime_s, self._began_s = 0.0, math.inf

    def _latest_s(self, airtime_s: float) -> float:
        """The last moment to begin, so that nobody is late; infinity: any."""
        return instant_after(self._ends_s, -airtime_s)

    def opens_s(self, begins_s: NDArray[np.float64], airtime_s: float) -> tuple[float, NDArray[np.bool_]]:
        """When it opens to clients that come at these times, and which of them begin then."""
        latest_s = self._latest_s(airtime_s)
        in_time = begins_s <= latest_s
        if not in_time.any():
            return math.inf, in_time
        last_s = begins_s[in_time].max()
        if latest_s == math.inf or in_time.sum() == self._num_expected:
            return float(last_s), in_time
        return float(latest_s), in_time

    def join(self, number: int, bits: float, airtime_s: float) -> "SummedUpload":
        """Let a client come at this instant."""
        upload = SummedUpload(number, bits, self, self._sim)
        latest_s = self._latest_s(airtime_s)
        if self._began_s < math.inf or latest_s < self._sim.now_s:
            return upload
        self._members[number] = upload
        self._airtime_s = airtime_s
        if len(self._members) == self._num_expected:
            self._begin_soon(self._sim.now_s)
        elif len(self._members) == 1 and latest_s < math.inf:
            self._begin_soon(latest_s)
        return upload

    def leave(self, upload: "SummedUpload") -> None:
        """Let one go, also before it has begun or ended."""
        if self._members.pop(upload.number, None) is not None and self._began_s < math.inf:
            sent = (self._sim.now_s - self._began_s) / self._airtime_s
            upload.share_left = max(0.0, 1.0 - sent)

    def _begin_soon(self, time_s: float) -> None:
        """Begin when the instant of that time is over, so that all who come in it are there."""
        self._sim.at(time_s).callbacks.append(  # type: ignore[union-attr]
            lambda _: self._sim.end_of_instant().callbacks.append(self._begin)  # type: ignore[union-attr]
        )

    def _begin(self, _event: Event) -> None:
        if self._began_s < math.inf or not self._members:
            return
        self._began_s = self._sim.now_s
        for number in sorted(self._members):
            self._members[number].begin()
        self._sim.timer(self._airtime_s).callbacks.append(self._end)  # type: ignore[union-attr]

    def _end(self, _event: Event) -> None:
        members, self._members = self._members, {}
        for number in sorted(members):
            members[number].share_left = 0.0
            members[number].done.succeed()


class SummedUpload(Upload):
    """One client's part.

    Attributes:
        share_left: How much of it was not sent.
    """

    def __init__(self, number: int, bits: float, barrier: Barrier, sim: Simulation) -> None:
        self.number, self.share_left = number, 1.0
        self.granted: Event | None = sim.event()
        self.done: Event = sim.event()
        self._bits, self._barrier = float(bits), barrier

    @property
    def bits_left(self) -> float:
        """Bits that were left at the end, as if they were sent one after the other."""
        return self._bits * self.share_left

    def close(self) -> None:
        self._barrier.leave(self)

    def begin(self) -> None:
        """Let the client send."""
        assert self.granted is not None
        self.granted.succeed()


class SummedUploads(Uploads):
    """The parts of an edge round's participants, shape (participants,).

    Args:
        begins_s: When each comes.
        opens_s: Times of coming, and airtime -> when the barrier opens, and to which.
    """

    def __init__(
        self,
        begins_s: NDArray[np.float64],
        bits: float,
        opens_s: Callable[[NDArray[np.float64], float], tuple[float, NDArray[np.bool_]]],
        airtime_s: float,
    ) -> None:
        self._bits, self._airtime_s = float(bits), airtime_s
        self._began_s, takes_part = opens_s(begins_s, airtime_s)
        self.granted_s = np.where(takes_part, self._began_s, math.inf)
        self.ends_s = instant_after(self.granted_s, airtime_s)

    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        sent = max(0.0, cut_s - self._began_s) / self._airtime_s
        left = self._bits * max(0.0, 1.0 - sent)
        return np.where(self.ends_s <= cut_s, 0.0, np.where(self.ends_s < math.inf, left, self._bits))
