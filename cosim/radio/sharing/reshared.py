"""Reshared: senders whose rates are not in proportion to their share, and change with every start and end."""

import math

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import instant_after
from cosim.radio.sharing.senders import Senders

_NOTHING = np.array(0.0)
"""Zero as an array, so that numpy makes none at every change."""
_NO_ROOMS: list[NDArray] = [np.empty(0, dtype=np.int64), *(np.empty(0) for _ in range(4))]
"""Rooms before the first sender, which many machines never have."""


class Reshared:
    """Senders, and the bits left of each.

    Attributes:
        num: Number of senders.
    """

    def __init__(self, senders: Senders) -> None:
        self._senders, self.num = senders, 0
        self._rooms = _NO_ROOMS
        self._since_s: float | NDArray[np.float64] = 0.0
        """Instant at which their rates last changed; shape (num,) if some have faded alone."""
        self._fades = False

    def _view(self) -> None:
        """Set views of numbers, bits left at the last change, rates, durations and next fades."""
        num = self.num
        numbers, left_bits, rate_bps, lasts_s, fade_s = self._rooms
        self._numbers, self._left_bits, self._rate_bps = numbers[:num], left_bits[:num], rate_bps[:num]
        self._lasts_s, self._fade_s = lasts_s[:num], fade_s[:num]

    def start(self, number: int, bits: float, fade_s: float, now_s: float) -> None:
        """Let an upload send from the next `go_on` on, in the same instant."""
        place, self.num = self.num, self.num + 1
        if place == len(self._rooms[0]):
            more = max(16, place)
            self._rooms = [np.concatenate((room, np.empty(more, room.dtype))) for room in self._rooms]
        for room, own in zip(self._rooms, (number, bits, 0.0, math.inf, fade_s), strict=True):
            room[place] = own
        if not place:
            self._since_s = now_s
        elif isinstance(self._since_s, np.ndarray):
            self._since_s = np.append(self._since_s, now_s)
        self._fades |= fade_s < math.inf
        self._senders.note(number)
        self._view()

    def end(self, now_s: float, ended_s: dict[int, float]) -> bool:
        """Record the uploads that have ended, and remove them; True if there are any."""
        num = self.num
        while self.num:
            place, end_s = self._first()
            if end_s > now_s:
                break
            ended_s[self._numbers.item(place)] = now_s
            self._forget(place)
        return self.num < num

    def stop(self, number: int, now_s: float) -> float | None:
        """Remove an upload and return its bits left; None if it is not there."""
        if not self.num:
            return None
        places = np.flatnonzero(self._numbers == number)
        if not len(places):
            return None
        place = places.item(0)
        since_s, left_bits = self._since_of(place), self._left_bits.item(place)
        if now_s > since_s:
            left_bits = max(0.0, left_bits - self._rate_bps.item(place) * (now_s - since_s))
            left_bits = 0.0 if instant_after(since_s, self._lasts_s.item(place)) <= now_s else left_bits
        self._forget(place)
        return left_bits

    def go_on(self, now_s: float, share_hz: float, is_redivided: bool) -> float:
        """Continue with a share; return the instant at which the next upload ends or fades.

        Args:
            is_redivided: True if the share has changed at any time in this instant.
        """
        if not self.num:
            return math.inf
        since_s, passed_s = now_s, now_s - self._since_s
        if self._fades and np.count_nonzero(fades := self._fade_s <= now_s):
            fading = self._numbers[fades].tolist()
            self._fade_s[fades] = [self._senders.fade(number, now_s) for number in fading]
            for number in fading:
                self._senders.note(number)
            if not is_redivided:
                since_s, passed_s = np.where(fades, now_s, self._since_s), np.where(fades, passed_s, 0.0)
        elif not is_redivided:
            return self._next_s()
        left_bits, rate_bps, lasts_s = self._left_bits, self._rate_bps, self._lasts_s
        left_bits -= rate_bps * passed_s
        np.maximum(left_bits, _NOTHING, out=left_bits)
        rate_bps[:] = self._senders.rates_bps(self._numbers, share_hz)
        if np.count_nonzero(rate_bps) == self.num:
            np.divide(left_bits, rate_bps, out=lasts_s)
        else:
            lasts_s[:] = math.inf
            np.divide(left_bits, rate_bps, out=lasts_s, where=rate_bps > 0.0)
        self._since_s = since_s
        return self._next_s()

    def _next_s(self) -> float:
        _, end_s = self._first()
        return min(end_s, self._fade_s.item(self._fade_s.argmin())) if self._fades else end_s

    def _first(self) -> tuple[int, float]:
        """Place and end of the upload that ends first."""
        since_s, lasts_s = self._since_s, self._lasts_s
        place = int((since_s + lasts_s if isinstance(since_s, np.ndarray) else lasts_s).argmin())
        return place, instant_after(self._since_of(place), lasts_s.item(place))

    def _since_of(self, place: int) -> float:
        since_s = self._since_s
        return since_s.item(place) if isinstance(since_s, np.ndarray) else since_s

    def _forget(self, place: int) -> None:
        """Move the last upload to the place of a removed one."""
        last = self.num = self.num - 1
        for room in self._rooms:
            room[place] = room[last]
        if isinstance(self._since_s, np.ndarray):
            self._since_s[place] = self._since_s[last]
            self._since_s = self._since_s[:last]
        self._fades = self._fades and last > 0
        self._view()
