"""Division: a band that its senders divide equally, as a machine.

If a client's SNR is the same in any bandwidth, its rate is in proportion to its share, so one *virtual time*
serves all uploads of a band: the service of an upload that has sent since the band was last empty, V in
hertz-seconds, which grows by B / n a second with n senders. An upload of b bits at e bit/s/Hz that starts at
V ends at V + b / e, and an upload that is stopped has e (V_end - V) bits left. So a start and an end take a
time of order log n, and change no other upload (fluid processor sharing; virtual time as in Parekh and
Gallager, "A generalized processor sharing approach to flow control", IEEE/ACM Trans. Netw. 1993).

If the SNR depends on the share, as in a link budget, every upload's rate is recomputed at every start and end
(`reshared`). Both kinds may share a band.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from typing_extensions import override

from cosim.clock.instants import DECADES, UNITS_PER_S, WHOLE
from cosim.links.machine import NO_NUMBERS, Machine
from cosim.radio.sharing.reshared import Reshared
from cosim.radio.sharing.senders import Senders, Starting

_NO_START: tuple[float, int, Starting] = (math.inf, -1, (0.0, None, math.inf))


class Division(Machine):
    """Uploads in equal shares.

    Args:
        share_hz: Number of senders -> share of each.
    """

    def __init__(self, share_hz: Callable[[int], float], senders: Senders) -> None:
        super().__init__()
        self._share_hz, self._senders = share_hz, senders
        self._since_s = self._virtual_hz_s = self._reached_hz_s = self._now_hz = 0.0
        self._sending: dict[int, tuple[float, float, float, float]] = {}
        """Number -> end in virtual time, bits at the last change of its rate, rate in 1 Hz, next fade."""
        self._ends: list[tuple[float, int]] = []
        self._fades: list[tuple[float, int]] = []
        self._reshared = Reshared(senders)

    @override
    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Count virtual time from 0 if no client sends."""
        if not self._sending and not self._reshared.num:
            self._virtual_hz_s, self._ends, self._fades = 0.0, [], []

    @override
    def advance(
        self,
        begins_s: Sequence[float],
        numbers: Sequence[int],
        until_s: float,
        stops: Sequence[int] = NO_NUMBERS,
    ) -> None:
        share_of, others = self._share_hz, self._reshared
        sending, ends, fades, ended_s = self._sending, self._ends, self._fades, self.ends_s
        since_s, virtual_hz_s, reached_hz_s = self._since_s, self._virtual_hz_s, self._reached_hz_s
        next_s, share_hz, num = self.next_change_s, self._now_hz, len(sending) + others.num
        starting = self._senders.starting(numbers) if numbers else ()
        starts = zip(begins_s, numbers, starting, strict=True)
        start_s, number, to_send = next(starts, _NO_START)
        stop_s = until_s if stops else math.inf
        while True:
            now_s = start_s if start_s < next_s else next_s
            if stop_s < now_s:
                now_s = stop_s
            if now_s > until_s or now_s == math.inf:
                break
            has_passed = now_s > since_s
            if has_passed:
                if num:
                    virtual_hz_s += (now_s - since_s) * share_hz
                    if next_s <= now_s and reached_hz_s > virtual_hz_s:
                        virtual_hz_s = reached_hz_s
                else:
                    virtual_hz_s = 0.0
                    ends.clear()
                    fades.clear()
                since_s = now_s
            is_redivided, stops_now = start_s == now_s, stop_s == now_s
            if stops_now:
                is_redivided |= self._stop(stops, now_s, virtual_hz_s)
            # uploads that end at an instant end after all starts and stops in it
            if next_s <= now_s and (has_passed or (start_s > now_s and not stops_now)):
                end_hz_s = reached_hz_s if reached_hz_s > virtual_hz_s else virtual_hz_s
                while ends and ends[0][0] <= end_hz_s:
                    when, ending = heappop(ends)
                    if ending in sending and sending[ending][0] == when:
                        ended_s[ending] = now_s
                        del sending[ending]
                        is_redivided = True
                while fades and fades[0][0] <= now_s:
                    self._fade(*heappop(fades), now_s, virtual_hz_s)
                if others.num:
                    is_redivided |= others.end(now_s, ended_s)
            while start_s == now_s:
                bits, flat_bps, fade_s = to_send
                if flat_bps is None:
                    others.start(number, bits, fade_s, now_s)
                else:
                    end_hz_s = virtual_hz_s + bits / flat_bps if flat_bps else math.inf
                    sending[number] = end_hz_s, bits, flat_bps, fade_s
                    if end_hz_s < math.inf:
                        heappush(ends, (end_hz_s, number))
                    if fade_s < math.inf:
                        heappush(fades, (fade_s, number))
                start_s, number, to_send = next(starts, _NO_START)
            next_s, num = math.inf, len(sending) + others.num
            if not num:
                if stops_now:
                    break
                continue
            share_hz = share_of(num)
            if others.num:
                next_s = others.go_on(now_s, share_hz, is_redivided)
            while fades and (fades[0][1] not in sending or sending[fades[0][1]][3] != fades[0][0]):
                heappop(fades)
            if fades:
                next_s = min(next_s, fades[0][0])
            while ends and (ends[0][1] not in sending or sending[ends[0][1]][0] != ends[0][0]):
                heappop(ends)
            reached_hz_s = 0.0
            if ends:
                end_hz_s = ends[0][0]
                # as instant_after, but without a call for every change
                end_s = now_s + (end_hz_s - virtual_hz_s) / share_hz if end_hz_s > virtual_hz_s else now_s
                per_s = UNITS_PER_S[bisect_right(DECADES, end_s)]
                end_s = ((end_s * per_s + WHOLE) - WHOLE) / per_s
                if end_s <= next_s:
                    next_s, reached_hz_s = end_s, end_hz_s
            if next_s < now_s:
                next_s = now_s
            if stops_now:
                break
        self._since_s, self._virtual_hz_s, self._reached_hz_s = since_s, virtual_hz_s, reached_hz_s
        self.next_change_s, self._now_hz = next_s, share_hz

    def _stop(self, stops: Sequence[int], now_s: float, virtual_hz_s: float) -> bool:
        """Stop some uploads; True if one of them was on its way."""
        has_stopped = False
        for number in stops:
            if number in self._sending:
                left_bits: float | None = self._left_bits(number, virtual_hz_s)
                del self._sending[number]
            else:
                left_bits = self._reshared.stop(number, now_s)
            if left_bits is not None:
                self.left_bits[number], has_stopped = left_bits, True
        return has_stopped

    def _left_bits(self, number: int, virtual_hz_s: float) -> float:
        """Bits left at a virtual time: above 0 as long as the upload has not ended."""
        end_hz_s, bits, flat_bps, _ = self._sending[number]
        if end_hz_s == math.inf:
            return bits
        return min(bits, max(math.ulp(self._senders.bits(number)), flat_bps * (end_hz_s - virtual_hz_s)))

    def _fade(self, when_s: float, number: int, now_s: float, virtual_hz_s: float) -> None:
        """Continue with the next fading block of an upload, if that comes next."""
        if number not in self._sending or self._sending[number][3] != when_s:
            return
        bits = self._left_bits(number, virtual_hz_s)
        fade_s = self._senders.fade(number, now_s)
        flat_bps = self._senders.rate_bps(number, 1.0)
        end_hz_s = virtual_hz_s + bits / flat_bps if flat_bps else math.inf
        self._sending[number] = end_hz_s, bits, flat_bps, fade_s
        if end_hz_s < math.inf:
            heappush(self._ends, (end_hz_s, number))
        if fade_s < math.inf:
            heappush(self._fades, (fade_s, number))
