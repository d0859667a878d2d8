"""Lanes: uploads with a bandwidth each, as a machine; if there are too few lanes, clients wait for one.

The next lane goes to the client that asked first, and among clients that asked at one instant to the first by
number, when the instant is over.
"""

import math
import sys
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from typing_extensions import override

from cosim.clock.instants import instant_after
from cosim.links.machine import Machine
from cosim.radio.sharing.senders import Senders


class Lanes(Machine):
    """Uploads side by side.

    Args:
        width_hz: Participants of an edge round -> bandwidth of a lane until the next begins.
        num_lanes: Number of lanes; None means one for each client.
    """

    def __init__(self, width_hz: Callable[[int], float], num_lanes: int | None, senders: Senders) -> None:
        super().__init__()
        self.has_turns = num_lanes is not None
        self._width_of, self._senders = width_hz, senders
        self._width_hz = width_hz(1)
        self._num_free = sys.maxsize if num_lanes is None else num_lanes
        self._line: list[tuple[float, int]] = []
        self._sending: dict[int, tuple[float, float, float, float, float]] = {}
        """Number -> bits left at an instant, that instant, rate since then, end at that rate, next fade."""
        self._changes: list[tuple[float, int]] = []

    @override
    def begin_round(self, num_clients: int, ends_s: float) -> None:
        self._width_hz = self._width_of(max(1, num_clients))

    @override
    def change(self, now_s: float, starts: Sequence[int], stops: Sequence[int]) -> None:
        for number in stops:
            self.left_bits[number] = self._stop(number, now_s)
        while self._changes and self._changes[0][0] <= now_s:
            when_s, number = heappop(self._changes)
            left_bits, since_s, rate_bps, end_s, fade_s = self._sending.get(number, _GONE)
            if when_s != min(end_s, fade_s):
                continue
            if end_s <= fade_s:
                del self._sending[number]
                self._num_free += 1
                self.ends_s[number] = now_s
            else:
                left_bits = max(0.0, left_bits - rate_bps * (now_s - since_s))
                self._send(number, left_bits, fade_s, now_s)
        for number in starts:
            self._line.append((now_s, number))
        if not self.has_turns:
            self._deal(now_s)
        self.awaits_end = bool(self._line and self._num_free)
        self.next_change_s = self._changes[0][0] if self._changes else math.inf

    @override
    def end_instant(self, now_s: float) -> None:
        self._line.sort()
        self._deal(now_s)
        self.next_change_s = self._changes[0][0] if self._changes else math.inf

    def _deal(self, now_s: float) -> None:
        """Let the first in line send, one in each free lane."""
        num = min(self._num_free, len(self._line))
        dealt, self._line = self._line[:num], self._line[num:]
        self._num_free -= num
        for _, number in dealt:
            self._send(number, *self._senders.to_send(number), now_s)
            if self.has_turns:
                self.granted_s[number] = now_s

    def _send(self, number: int, left_bits: float, fade_s: float, now_s: float) -> None:
        """Send the remaining bits from now on, in the fading block of this instant."""
        if fade_s <= now_s:
            fade_s = self._senders.fade(number, now_s)
        rate_bps = self._senders.rate_bps(number, self._width_hz)
        end_s = instant_after(now_s, left_bits / rate_bps) if rate_bps else math.inf
        self._sending[number] = left_bits, now_s, rate_bps, end_s, fade_s
        if end_s <= fade_s and end_s < math.inf:
            self.due_s[number] = end_s
            heappush(self._changes, (end_s, number))
        elif fade_s < math.inf:
            heappush(self._changes, (fade_s, number))

    def _stop(self, number: int, now_s: float) -> float:
        """Bits left of an upload that is sending or waiting."""
        if number not in self._sending:
            self._line = [row for row in self._line if row[1] != number]
            return self._senders.bits(number)
        left_bits, since_s, rate_bps, end_s, _ = self._sending.pop(number)
        self._num_free += 1
        if now_s > since_s:
            left_bits = 0.0 if end_s <= now_s else max(0.0, left_bits - rate_bps * (now_s - since_s))
        return left_bits


_GONE = (0.0, 0.0, 0.0, math.nan, math.nan)
