"""Together: links whose uploads begin when all of an edge round are there, and last the same.

If not all come, uploads begin at the last moment from which they still end with the round; clients that come
later are left out.
"""

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import instant_after
from cosim.clock.simulation import Event, Simulation
from cosim.jobs.job import Places
from cosim.links.port import InRound, Sender
from cosim.links.upload import Upload, Uploads
from cosim.links.way import Way


class Opening:
    """When the uploads of an edge round begin.

    Args:
        num_expected: Clients that are waited for.
        ends_s: When the round ends at the latest.
        airtime_s: How long uploads last.

    Attributes:
        latest_s: The last moment to begin, so that none is late; infinity: any.
    """

    def __init__(self, num_expected: int, ends_s: float, airtime_s: float) -> None:
        self._num_expected, self.airtime_s = num_expected, airtime_s
        self.latest_s = instant_after(ends_s, -airtime_s)

    def begins_s(self, num_clients: int, last_s: float) -> float:
        """When it is, if `num_clients` come by the last moment, the last of them at `last_s`."""
        return last_s if num_clients == self._num_expected else self.latest_s

    def left_bits(self, bits: float, lasted_s: float) -> float:
        """Bits that are left of an upload, as if they were sent one after the other."""
        return bits * max(0.0, 1.0 - max(0.0, lasted_s) / self.airtime_s)


class TogetherWay(Way):
    """All of an edge round at once."""

    def __init__(self, *of_cell: Any) -> None:
        super().__init__(*of_cell)
        self.begin_round(0)

    @override
    def begin_round(self, num_clients: int, ends_s: float = math.inf, places: Places | None = None) -> None:
        super().begin_round(num_clients, ends_s, places)
        self._opening, self._barrier = partial(Opening, num_clients, ends_s), None

    @override
    def _open(self, sender: Sender) -> "_Part":
        if self._barrier is None:
            self._barrier = _Barrier(self._sim, self._opening(self.link.airtime_s(sender.payload)))
        return self._barrier.join(sender)

    @override
    def _uploads(self, of: InRound) -> "_Parts":
        opening = self._opening(self.link.airtime_s(of.payload))
        return _Parts(of.begins_s, float(of.payload.bits), opening)


class _Barrier:
    """Barrier of one edge round on a clock."""

    def __init__(self, sim: Simulation, opening: Opening) -> None:
        self._sim, self.opening = sim, opening
        self._members: dict[int, _Part] = {}
        self.began_s = self._due_s = math.inf

    def join(self, sender: Sender) -> "_Part":
        """Let a client come at this instant."""
        part, now_s = _Part(self._sim, sender, self), self._sim.now_s
        if self.began_s < math.inf or self.opening.latest_s < now_s:
            return part
        self._members[sender.place] = part
        begins_s = self.opening.begins_s(len(self._members), now_s)
        if begins_s < self._due_s:
            self._due_s = begins_s  # when the instant is over, so that all that come in it are there
            self._sim.at(begins_s).callbacks.append(  # type: ignore[union-attr]
                lambda _: self._sim.end_of_instant().callbacks.append(self._begin)  # type: ignore[union-attr]
            )
        return part

    def leave(self, part: "_Part") -> None:
        """Remove one, even before it has begun or ended."""
        if self._members.pop(part.place, None) is not None and self.began_s < math.inf:
            part.left_bits = self.opening.left_bits(part.left_bits, self._sim.now_s - self.began_s)

    def _begin(self, _event: Event) -> None:
        if self.began_s < math.inf or not self._members:
            return
        self.began_s = self._sim.now_s
        for place in sorted(self._members):
            self._members[place].granted.succeed()  # type: ignore[union-attr]
        self._sim.timer(self.opening.airtime_s).callbacks.append(self._end)  # type: ignore[union-attr]

    def _end(self, _event: Event) -> None:
        members, self._members = self._members, {}
        for place in sorted(members):
            members[place].left_bits = 0.0
            members[place].done.succeed()


class _Part(Upload):
    """One client's part.

    Attributes:
        left_bits: What is left of it.
    """

    def __init__(self, sim: Simulation, sender: Sender, barrier: _Barrier) -> None:
        self.place, self.left_bits, self._barrier = sender.place, float(sender.payload.bits), barrier
        self.granted: Event | None = sim.event()
        self.done: Event = sim.event()

    @property
    @override
    def bits_left(self) -> float:
        return self.left_bits

    @override
    def close(self) -> None:
        self._barrier.leave(self)


class _Parts(Uploads):
    """The parts of an edge round's participants, shape (participants,)."""

    def __init__(self, come_s: NDArray[np.float64], bits: float, opening: Opening) -> None:
        self._bits, self._opening, self._began_s = bits, opening, math.inf
        takes_part = come_s <= opening.latest_s
        if num := int(np.count_nonzero(takes_part)):
            self._began_s = opening.begins_s(num, float(come_s[takes_part].max()))
        self.granted_s = np.where(takes_part, self._began_s, math.inf)
        self.ends_s = instant_after(self.granted_s, opening.airtime_s)

    @override
    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        left = self._opening.left_bits(self._bits, cut_s - self._began_s)  # type: ignore[arg-type]
        return np.where(self.ends_s <= cut_s, 0.0, np.where(self.ends_s < math.inf, left, self._bits))
