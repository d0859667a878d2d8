"""Redivided shares: those still sending split the whole band anew whenever somebody starts or ends.

Where a client's SNR is the same in any bandwidth its rate is in proportion to its share, so one *virtual
time* serves all of a band: what an upload with the whole share has got since the band was last empty, V in
hertz-seconds, which grows by B / n a second with n senders. An upload of b bits at e bit/s/Hz that starts at
V ends at V + b / e, and one that is cut has e (V_end - V) bits left. So a start and an end take a time of
order log n, and move no other upload (fluid processor sharing; virtual time as in Parekh and Gallager, "A
generalized processor sharing approach to flow control", IEEE/ACM Trans. Netw. 1993).

Where the SNR depends on the share, as by a link budget, every upload's rate is computed anew at every start
and end, n of them each time. Both kinds may meet in a band.

Scope and limitations: the shares are equal; guard bands, framing and retransmissions are not modelled.

Validation: tests/radio/sharing/test_shares.py against a fluid model without events.
"""

import math
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import configuration, field, positive, stand_for
from cosim.instants import instant_after
from cosim.links.payload import Payload
from cosim.links.upload import Upload, Uploads
from cosim.names import by_number
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.radio.sharing.band import Band, Rates, Sharing
from cosim.radio.sharing.fluid import ChangingUploads, FlatUploads
from cosim.radio.sharing.shares import SharedUpload
from cosim.simulation import Event, Simulation


@configuration
class RedividedShares(Sharing):
    """Equal shares for all who are sending, so that nothing lies idle.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
    """

    bandwidth_hz: float = field(positive, default=20e6)

    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[RedividedBand]":
        """The band of each cell."""
        return [RedividedBand(sim, self.bandwidth_hz) for _ in range(num_cells)]


class FlatUpload(Upload):
    """An upload by its end in virtual time.

    Args:
        leave: What ends it in its band.

    Attributes:
        end_hz_s: Where in virtual time its last bit is through, if its fading block lasts.
        block_end_s: When its fading block ends.
    """

    def __init__(
        self,
        client: str,
        channel: Channel,
        bits: float,
        block: Block,
        sim: Simulation,
        leave: "Callable[[FlatUpload], None]",
    ) -> None:
        self.client = client
        self.done: Event = sim.event()
        self.end_hz_s = math.inf
        self._bits_left, self._least_bits = float(bits), math.ulp(bits)
        self._channel, self._block, self._leave = channel, block, leave
        self.block_end_s = channel.block_end_s(block)
        self._bits_per_hz_s = channel.rate_bps(1.0, block)

    @property
    def bits_left(self) -> float:
        """Bits that were left at the end, or at the last change of fading."""
        return 0.0 if self.done.processed else self._bits_left

    def close(self) -> None:
        """End the upload, also before all its bits are through."""
        self._leave(self)

    def go_on(self, virtual_hz_s: float) -> None:
        """Send what is left from this virtual time on."""
        if self._bits_per_hz_s:
            self.end_hz_s = virtual_hz_s + self._bits_left / self._bits_per_hz_s
        else:
            self.end_hz_s = math.inf

    def pause(self, virtual_hz_s: float) -> None:
        """Count what is left at a virtual time: something, as long as it has not arrived."""
        if self.end_hz_s < math.inf:
            left_bits = self._bits_per_hz_s * (self.end_hz_s - virtual_hz_s)
            self._bits_left = min(self._bits_left, max(self._least_bits, left_bits))

    def fade(self, virtual_hz_s: float) -> None:
        """Go on in the next fading block."""
        self.pause(virtual_hz_s)
        self._block = self._channel.fading.after(self._block)
        self.block_end_s = self._channel.block_end_s(self._block)
        self._bits_per_hz_s = self._channel.rate_bps(1.0, self._block)
        self.go_on(virtual_hz_s)


class RedividedBand(Band):
    """The uplink band of one cell, divided among those who send.

    Args:
        bandwidth_hz: The whole band.
    """

    shortcuts = stand_for(uploads=("share_hz",))

    def __init__(self, sim: Simulation, bandwidth_hz: float) -> None:
        self._sim = sim
        self._bandwidth_hz = bandwidth_hz
        self._flat: dict[str, FlatUpload] = {}
        self._others: dict[str, SharedUpload] = {}
        self._ends: list[tuple[float, str]] = []
        self._fades: list[tuple[float, str]] = []
        self._virtual_hz_s, self._since_s = 0.0, 0.0
        self._next_s, self._reached_hz_s = math.inf, 0.0
        self._num_divisions = 0

    def share_hz(self, num_clients: int) -> float:
        """What each of so many clients can count on in an edge round."""
        return self._bandwidth_hz / num_clients

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Count virtual time anew where nobody sends."""
        if not self._flat and not self._others:
            self._virtual_hz_s, self._ends, self._fades = 0.0, [], []

    def uploads(self, begins_s: NDArray[np.float64], payload: Payload, rates: Rates) -> Uploads | None:
        """By virtual time, or from change to change."""
        if self._flat or self._others:
            return None
        kind = FlatUploads if rates.are_flat else ChangingUploads
        return kind(begins_s, payload.bits, rates.in_hz, self._bandwidth_hz)

    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> Upload:
        """Start an upload; its `done` comes when all bits are through."""
        self._advance()
        if channel.is_flat:
            upload = FlatUpload(client, channel, payload.bits, block, self._sim, self._leave)
            self._flat[client] = upload
            upload.go_on(self._virtual_hz_s)
            self._put_in_order(upload)
        else:
            upload = SharedUpload(client, channel, payload.bits, block, self._sim, self._leave_other)
            self._others[client] = upload
        self._divide()
        return upload

    def _leave(self, upload: FlatUpload) -> None:
        if self._flat.get(upload.client) is upload:
            self._advance()
            upload.pause(self._virtual_hz_s)
            del self._flat[upload.client]
            self._divide()

    def _leave_other(self, upload: SharedUpload) -> None:
        if self._others.get(upload.client) is upload:
            self._advance()
            upload.pause()
            del self._others[upload.client]
            self._divide()

    def _put_in_order(self, upload: FlatUpload) -> None:
        for order, when in ((self._ends, upload.end_hz_s), (self._fades, upload.block_end_s)):
            if when < math.inf:
                heappush(order, (when, upload.client))

    def _advance(self) -> None:
        """Bring the virtual time up to this instant, for all of which it is one."""
        passed_s, num_senders = self._sim.now_s - self._since_s, len(self._flat) + len(self._others)
        self._since_s = self._sim.now_s
        if passed_s and num_senders:
            self._virtual_hz_s += passed_s * self.share_hz(num_senders)
        elif passed_s:
            self._virtual_hz_s, self._ends, self._fades = 0.0, [], []
        if passed_s and self._next_s <= self._since_s:  # reached, whichever part asks first
            self._virtual_hz_s = max(self._virtual_hz_s, self._reached_hz_s)

    def _divide(self) -> None:
        """Go on with the shares of this instant, until somebody changes by itself."""
        self._num_divisions += 1
        self._next_s = math.inf
        num_senders = len(self._flat) + len(self._others)
        if not num_senders:
            return
        share_hz, now_s = self.share_hz(num_senders), self._sim.now_s
        next_s = math.inf
        for other in self._others.values():
            other.update(share_hz)
            next_s = min(next_s, other.next_change_s)
        fade_s = self._first(self._fades, "block_end_s")
        end_hz_s = self._first(self._ends, "end_hz_s")
        end_s = instant_after(now_s, max(0.0, end_hz_s - self._virtual_hz_s) / share_hz)
        next_s = self._next_s = max(now_s, min(next_s, fade_s, end_s))
        if next_s < math.inf:
            change, division = self._sim.at(next_s), self._num_divisions
            change.callbacks.append(lambda _: self._change(division))  # type: ignore[union-attr]
            self._reached_hz_s = end_hz_s if end_s == next_s else 0.0

    def _first(self, order: list[tuple[float, str]], name: str) -> float:
        """When the first who still sends ends or fades, without the entries of others and of before."""
        while order:
            when, client = order[0]
            if client in self._flat and getattr(self._flat[client], name) == when:
                return when
            heappop(order)
        return math.inf

    def _change(self, division: int) -> None:
        """End what has ended, let what fades fade and divide anew, unless a later division has done so."""
        if division != self._num_divisions:
            return
        self._advance()
        ended: list[FlatUpload | SharedUpload] = []
        reached_hz_s = max(self._virtual_hz_s, self._reached_hz_s)
        while self._first(self._ends, "end_hz_s") <= reached_hz_s:
            ended.append(self._flat.pop(heappop(self._ends)[1]))
        while self._first(self._fades, "block_end_s") <= self._sim.now_s:
            upload = self._flat[heappop(self._fades)[1]]
            upload.fade(self._virtual_hz_s)
            self._put_in_order(upload)
        for other in [other for other in self._others.values() if other.has_ended()]:
            ended.append(self._others.pop(other.client))
        for upload in sorted(ended, key=lambda upload: by_number(upload.client)):
            upload.done.succeed()
        self._divide()
