"""Reshared: senders whose rates are in no proportion to their share, and change with every other's start."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.instants import instant_after
from cosim.radio.sharing.senders import Senders

Floats = NDArray[np.float64]


class Reshared:
    """Those who send, and what is left of each; arrays have shape (senders,).

    Attributes:
        num: How many there are.
    """

    def __init__(self, senders: Senders) -> None:
        self._senders, self.num = senders, 0
        self._numbers: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._left_bits = self._rate_bps = self._since_s = self._end_s = self._fade_s = np.empty(0)
        self._starting: list[tuple[int, float, float]] = []

    def start(self, number: int, bits: float, fade_s: float) -> None:
        """Let one send from the next `go_on` on."""
        self._starting.append((number, bits, fade_s))
        self.num += 1

    def end(self, now_s: float, ended_s: dict[int, float]) -> bool:
        """Note those that have ended, and forget them; True if there are any."""
        has_ended = self._end_s <= now_s
        if not np.count_nonzero(has_ended):
            return False
        ended_s.update(dict.fromkeys(self._numbers[has_ended].tolist(), now_s))
        self._keep(~has_ended)
        return True

    def stop(self, number: int, now_s: float) -> float | None:
        """Forget one and say what is left of it; None: it is not there."""
        self._join(now_s)
        (places,) = np.nonzero(self._numbers == number)
        if not len(places):
            return None
        place = places[0]
        left_bits, passed_s = float(self._left_bits[place]), now_s - float(self._since_s[place])
        if passed_s > 0.0:
            left_bits = max(0.0, left_bits - float(self._rate_bps[place]) * passed_s)
            left_bits = 0.0 if self._end_s[place] <= now_s else left_bits
        self._keep(self._numbers != number)
        return left_bits

    def go_on(self, now_s: float, share_hz: float, is_redivided: bool) -> float:
        """Go on with a share; return when the next of them ends or fades.

        Args:
            is_redivided: True if the share is not what it was, at any time in this instant.
        """
        self._join(now_s)
        fades = self._fade_s <= now_s
        if np.count_nonzero(fades):
            fading = self._numbers[fades].tolist()
            self._fade_s[fades] = [self._senders.fade(number, now_s) for number in fading]
        elif not is_redivided:
            return self._next_s()
        which = slice(None) if is_redivided else fades
        left_bits = self._left_bits[which] - self._rate_bps[which] * (now_s - self._since_s[which])
        left_bits = self._left_bits[which] = np.maximum(0.0, left_bits)
        rate_bps = self._rate_bps[which] = self._senders.rates_bps(self._numbers[which], share_hz)
        self._since_s[which] = now_s
        lasts_s = np.full(len(left_bits), math.inf)
        np.divide(left_bits, rate_bps, out=lasts_s, where=rate_bps > 0.0)
        self._end_s[which] = instant_after(now_s, lasts_s)
        return self._next_s()

    def _next_s(self) -> float:
        return min(float(self._end_s.min(initial=math.inf)), float(self._fade_s.min(initial=math.inf)))

    def _join(self, now_s: float) -> None:
        if not self._starting:
            return
        numbers, bits, fades_s = zip(*self._starting, strict=True)
        self._starting.clear()
        num = len(numbers)
        self._numbers = np.append(self._numbers, np.array(numbers, dtype=np.int64))
        self._left_bits, self._fade_s = np.append(self._left_bits, bits), np.append(self._fade_s, fades_s)
        self._rate_bps = np.append(self._rate_bps, np.zeros(num))
        self._since_s = np.append(self._since_s, np.full(num, now_s))
        self._end_s = np.append(self._end_s, np.full(num, math.inf))

    def _keep(self, which: NDArray[np.bool_] | Sequence[bool]) -> None:
        self._numbers = self._numbers[which]
        self._left_bits, self._rate_bps, self._since_s, self._end_s, self._fade_s = (
            values[which]
            for values in (self._left_bits, self._rate_bps, self._since_s, self._end_s, self._fade_s)
        )
        self.num = len(self._numbers) + len(self._starting)
