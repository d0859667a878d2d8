"""Reshared: senders whose rates are in no proportion to their share, and change with every other's start."""

import math

import numpy as np
from numpy.typing import NDArray

from cosim.instants import instant_after
from cosim.radio.sharing.senders import Senders


class Reshared:
    """Those who send, and what is left of each.

    Attributes:
        num: How many there are.
    """

    def __init__(self, senders: Senders) -> None:
        self._senders, self.num = senders, 0
        self._starting: list[tuple[int, float, float]] = []
        self._fades = False
        self._hold(16)

    def _hold(self, most: int) -> None:
        """Make room for so many; in the order of their starts."""
        self._numbers = np.empty(most, dtype=np.int64)
        self._table = np.empty((5, most))
        self._num_joined = 0
        self._view()

    def _view(self) -> None:
        """Of each that has joined, in rows: bits left, rate, since when, when it ends, when it fades."""
        self._joined = self._numbers[: self._num_joined]
        table = self._table[:, : self._num_joined]
        self._left_bits, self._rate_bps, self._since_s, self._end_s, self._fade_s = table

    def start(self, number: int, bits: float, fade_s: float) -> None:
        """Let one send from the next `go_on` on."""
        self._senders.note(number)
        self._starting.append((number, bits, fade_s))
        self.num += 1

    def end(self, now_s: float, ended_s: dict[int, float]) -> bool:
        """Note those that have ended, and forget them; True if there are any."""
        has_ended = self._end_s <= now_s
        if not np.count_nonzero(has_ended):
            return False
        ended_s.update(dict.fromkeys(self._joined[has_ended].tolist(), now_s))
        self._keep(~has_ended)
        return True

    def stop(self, number: int, now_s: float) -> float | None:
        """Forget one and say what is left of it; None: it is not there."""
        self._join(now_s)
        (places,) = np.nonzero(self._joined == number)
        if not len(places):
            return None
        place = places[0]
        left_bits, passed_s = float(self._left_bits[place]), now_s - float(self._since_s[place])
        if passed_s > 0.0:
            left_bits = max(0.0, left_bits - float(self._rate_bps[place]) * passed_s)
            left_bits = 0.0 if self._end_s[place] <= now_s else left_bits
        self._keep(self._joined != number)
        return left_bits

    def go_on(self, now_s: float, share_hz: float, is_redivided: bool) -> float:
        """Go on with a share; return when the next of them ends or fades.

        Args:
            is_redivided: True if the share is not what it was, at any time in this instant.
        """
        self._join(now_s)
        which: slice | NDArray[np.bool_] = slice(None)
        fades = self._fade_s <= now_s if self._fades else None
        if fades is not None and np.count_nonzero(fades):
            fading = self._joined[fades].tolist()
            self._fade_s[fades] = [self._senders.fade(number, now_s) for number in fading]
            for number in fading:
                self._senders.note(number)
            which = which if is_redivided else fades
        elif not is_redivided:
            return self._next_s()
        left_bits = self._left_bits[which] - self._rate_bps[which] * (now_s - self._since_s[which])
        left_bits = self._left_bits[which] = np.maximum(0.0, left_bits)
        rate_bps = self._rate_bps[which] = self._senders.rates_bps(self._joined[which], share_hz)
        self._since_s[which] = now_s
        if np.count_nonzero(rate_bps) == len(rate_bps):
            lasts_s = left_bits / rate_bps
        else:
            lasts_s = np.full(len(left_bits), math.inf)
            np.divide(left_bits, rate_bps, out=lasts_s, where=rate_bps > 0.0)
        self._end_s[which] = instant_after(now_s, lasts_s)
        return self._next_s()

    def _next_s(self) -> float:
        if not self.num:
            return math.inf
        end_s = self._end_s.item(self._end_s.argmin())
        return min(end_s, self._fade_s.item(self._fade_s.argmin())) if self._fades else end_s

    def _join(self, now_s: float) -> None:
        if not self._starting:
            return
        first, self._num_joined = self._num_joined, self._num_joined + len(self._starting)
        if self._num_joined > len(self._numbers):
            numbers, table, num = self._numbers, self._table, self._num_joined
            self._hold(2 * num)
            self._numbers[:first], self._table[:, :first] = numbers[:first], table[:, :first]
            self._num_joined = num
        for place, (number, bits, fade_s) in enumerate(self._starting, first):
            self._numbers[place] = number
            self._table[:, place] = bits, 0.0, now_s, math.inf, fade_s
            self._fades |= fade_s < math.inf
        self._starting.clear()
        self._view()

    def _keep(self, which: NDArray[np.bool_]) -> None:
        joined, table = self._joined[which], self._table[:, : self._num_joined][:, which]
        self._num_joined = len(joined)
        self._numbers[: self._num_joined], self._table[:, : self._num_joined] = joined, table
        self.num = self._num_joined + len(self._starting)
        self._fades = self._fades and self.num > 0
        self._view()
