"""Fluid: uploads of an edge round in a band that is divided anew at every start and end, as arrays.

To the last bit those of `redivided`, whose order of additions this follows. In virtual time a start and an
end take a time of order log n; where the SNR depends on the share, all rates are computed anew at each, as
one array.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from heapq import heappop, heappush
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from cosim.instants import instant_after
from cosim.links.upload import Uploads

Rates = Callable[[float], NDArray[np.float64]]


class FlatUploads(Uploads):
    """Uploads of an edge round in a band that nobody else uses, shape (participants,).

    Args:
        begins_s: When each begins.
        rates: Bandwidth -> rate of each in it, in proportion to it.
        bandwidth_hz: The whole band.
    """

    def __init__(
        self,
        begins_s: NDArray[np.float64],
        bits: float,
        rates: Rates,
        bandwidth_hz: float,
    ) -> None:
        self._begins_s, self._bits, self._bits_per_hz_s = begins_s, float(bits), rates(1.0)
        self._bandwidth_hz = bandwidth_hz
        with np.errstate(divide="ignore"):
            self._lasts_hz_s = self._bits / self._bits_per_hz_s
        self._ends_hz_s = np.full(len(begins_s), math.inf)
        self.ends_s = np.full(len(begins_s), math.inf)
        self._changes: list[tuple[float, float, int]] = []
        self._play()

    def _play(self) -> None:
        """Go from start to end to start, as the band does."""
        order = np.argsort(self._begins_s, kind="stable")
        starts = list(zip(self._begins_s[order].tolist(), order.tolist(), strict=True))[::-1]
        lasts_hz_s = self._lasts_hz_s.tolist()
        ends: list[tuple[float, int]] = []
        now_s = virtual_hz_s = reached_hz_s = 0.0
        num_senders, next_s = 0, math.inf
        while starts or next_s < math.inf:
            before_s, now_s = now_s, min(starts[-1][0] if starts else math.inf, next_s)
            if now_s > before_s and num_senders:
                virtual_hz_s += (now_s - before_s) * (self._bandwidth_hz / num_senders)
            elif now_s > before_s:
                virtual_hz_s = 0.0
            if next_s <= now_s:
                reached_hz_s = max(virtual_hz_s, reached_hz_s)
                if now_s > before_s:
                    virtual_hz_s = reached_hz_s
                while ends and ends[0][0] <= reached_hz_s:
                    self.ends_s[heappop(ends)[1]] = now_s
                    num_senders -= 1
            while starts and starts[-1][0] == now_s:
                place = starts.pop()[1]
                end_hz_s = self._ends_hz_s[place] = virtual_hz_s + lasts_hz_s[place]
                num_senders += 1
                if end_hz_s < math.inf:
                    heappush(ends, (end_hz_s, place))
            next_s = math.inf
            if ends:
                reached_hz_s = ends[0][0]
                share_hz = self._bandwidth_hz / num_senders
                next_s = instant_after(now_s, max(0.0, reached_hz_s - virtual_hz_s) / share_hz)
            self._changes.append((now_s, virtual_hz_s, num_senders))

    def bits_left(self, cut_s: float) -> NDArray[np.float64]:
        """What is left when virtual time stands still."""
        last = bisect_right(self._changes, cut_s, key=itemgetter(0)) - 1
        if last < 0:
            return np.full(len(self.ends_s), self._bits)
        since_s, virtual_hz_s, num_senders = self._changes[last]
        if cut_s > since_s and num_senders:
            virtual_hz_s += (cut_s - since_s) * (self._bandwidth_hz / num_senders)
        sends = (self._begins_s <= cut_s) & (self._ends_hz_s < math.inf)
        left = np.full(len(self.ends_s), self._bits)
        left[sends] = self._bits_per_hz_s[sends] * (self._ends_hz_s[sends] - virtual_hz_s)
        left = np.minimum(self._bits, np.maximum(math.ulp(self._bits), left))
        return np.where(self.ends_s <= cut_s, 0.0, left)


class ChangingUploads(Uploads):
    """Uploads whose rates are in no proportion to their share, shape (participants,).

    Args:
        begins_s: When each begins.
        rates: Bandwidth -> rate of each in it.
        bandwidth_hz: The whole band.
    """

    def __init__(self, begins_s: NDArray[np.float64], bits: float, rates: Rates, bandwidth_hz: float) -> None:
        self._bits, self._rates, self._bandwidth_hz = float(bits), rates, bandwidth_hz
        self.ends_s = np.full(len(begins_s), math.inf)
        self._changes: list[tuple[float, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = []
        self._play(begins_s)

    def _play(self, begins_s: NDArray[np.float64]) -> None:
        """Go from start to end to start, as the band does."""
        order = np.argsort(begins_s, kind="stable")
        left, start = np.full(len(begins_s), self._bits), 0
        sending, rate_bps, end_s = order[:0], np.empty(0), np.empty(0)
        since_s, next_s = 0.0, math.inf
        while start < len(order) or next_s < math.inf:
            now_s = min(begins_s.item(order[start]) if start < len(order) else math.inf, next_s)
            has_ended = end_s <= now_s
            last = int(np.searchsorted(begins_s, now_s, side="right", sorter=order))
            if has_ended.any() or last > start:
                sent = rate_bps * (now_s - since_s)
                left[sending] = np.where(has_ended, 0.0, np.maximum(0.0, left[sending] - sent))
                self.ends_s[sending[has_ended]] = now_s
                sending, start = np.concatenate([sending[~has_ended], order[start:last]]), last
                rate_bps = self._rates(self._bandwidth_hz / max(1, len(sending)))[sending]
                with np.errstate(divide="ignore"):
                    end_s = instant_after(now_s, left[sending] / rate_bps)
                since_s = now_s
                self._changes.append((now_s, sending, left[sending], rate_bps))
            next_s = end_s.min(initial=math.inf)

    def bits_left(self, cut_s: float) -> NDArray[np.float64]:
        """What is left at the rates of then."""
        left = np.full(len(self.ends_s), self._bits)
        last = bisect_right(self._changes, cut_s, key=itemgetter(0)) - 1
        if last >= 0:
            since_s, sending, at_first, rate_bps = self._changes[last]
            left[sending] = np.maximum(0.0, at_first - rate_bps * (cut_s - since_s))
        return np.where(self.ends_s <= cut_s, 0.0, left)
