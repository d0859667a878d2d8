"""Fixed shares: the uplink band of one cell, divided by frequency among those who take part in an edge round.

Each of the n clients has B / n until the round ends (HIST journal paper, Section IV-A). An upload lives
through changes of its fading block: it knows the bits it has left and its current rate.

Scope and limitations: the shares are equal; guard bands, framing and retransmissions are not modelled.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import configuration, field, positive
from cosim.instants import instant_after
from cosim.links.carried import SteadyUploads
from cosim.links.payload import Payload
from cosim.links.upload import Upload
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.radio.sharing.band import Band, Rates, Sharing
from cosim.simulation import Event, Simulation


@configuration
class FixedShares(Sharing):
    """Equal shares for all who take part in an edge round, until it ends.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
    """

    bandwidth_hz: float = field(positive, default=20e6)

    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[FixedBand]":
        """The band of each cell."""
        return [FixedBand(sim, self.bandwidth_hz) for _ in range(num_cells)]


class SharedUpload(Upload):
    """An upload: bits left at an instant, and the rate since then.

    Args:
        leave: What ends it in its band.
    """

    def __init__(
        self,
        client: str,
        channel: Channel,
        bits: float,
        block: Block,
        sim: Simulation,
        leave: "Callable[[SharedUpload], None]",
    ) -> None:
        self.client = client
        self.done: Event = sim.event()
        self._leave = leave
        self._bits_left = float(bits)
        self._channel = channel
        self._block = block
        self._block_end_s = channel.block_end_s(block)
        self._sim = sim
        self._share_hz = 0.0
        self._rate_bps = 0.0
        self._since_s = sim.now_s
        self._end_s = math.inf

    @property
    def bits_left(self) -> float:
        """Bits that were left at the last change of rate, or at the end."""
        return 0.0 if self.done.processed else self._bits_left

    def close(self) -> None:
        """End the upload, also before all its bits are through."""
        self._leave(self)

    @property
    def next_change_s(self) -> float:
        """When the upload ends at its current rate, or its fading block does."""
        return min(self._end_s, self._block_end_s)

    def has_ended(self) -> bool:
        """Whether all bits are through at this instant."""
        return self._end_s <= self._sim.now_s

    def update(self, share_hz: float) -> None:
        """Go on with this share of the band and with the fading block of this instant."""
        now_s = self._sim.now_s
        fades = self._block_end_s <= now_s
        if share_hz == self._share_hz and not fades:
            return
        if self._rate_bps:
            self.pause()
        if fades:
            self._block = self._channel.fading.after(self._block)
            self._block_end_s = self._channel.block_end_s(self._block)
        self._share_hz, self._since_s = share_hz, now_s
        rate_bps = self._rate_bps = self._channel.rate_bps(share_hz, self._block)
        self._end_s = instant_after(now_s, self._bits_left / rate_bps) if rate_bps else math.inf

    def pause(self) -> None:
        """Count what has been sent until now."""
        now_s = self._sim.now_s
        if now_s > self._since_s:  # else a larger share would let it end in no time
            sent = self._rate_bps * (now_s - self._since_s)
            self._bits_left = 0.0 if self._end_s <= now_s else max(0.0, self._bits_left - sent)
        self._since_s = now_s

    def send(self, share_hz: float, fade: "Callable[[SharedUpload], None]") -> None:
        """Send with a share that nobody changes, to the end.

        Args:
            fade: Called when a fading block ends before.
        """
        self.update(share_hz)
        if self._block_end_s < self._end_s:
            fades = self._sim.at(max(self._block_end_s, self._sim.now_s))
            fades.callbacks.append(lambda _: fade(self))  # type: ignore[union-attr]
        elif self._rate_bps:
            self._sim.trigger(self.done, self._bits_left / self._rate_bps)

    @property
    def is_sending(self) -> bool:
        """Whether it has a share of the band."""
        return self._share_hz > 0.0

    def stop(self) -> None:
        """End it, also before all its bits are through."""
        self.pause()
        self._share_hz, self._rate_bps, self._end_s = 0.0, 0.0, math.inf


class FixedBand(Band):
    """The uplink band of one cell, in equal shares.

    Args:
        bandwidth_hz: The whole band.
    """

    def __init__(self, sim: Simulation, bandwidth_hz: float) -> None:
        self._sim = sim
        self._bandwidth_hz = bandwidth_hz
        self._num_shares = 1

    def share_hz(self, num_clients: int) -> float:
        """What each of so many clients has in an edge round."""
        return self._bandwidth_hz / num_clients

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Fix the shares of an edge round that begins now."""
        self._num_shares = max(1, num_clients)

    def uploads(self, begins_s: NDArray[np.float64], payload: Payload, rates: Rates) -> SteadyUploads:
        """Each in its share."""
        return SteadyUploads(begins_s, int(payload.bits), rates.in_hz(self.share_hz(self._num_shares)))

    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> SharedUpload:
        """Start an upload; its `done` comes when all bits are through."""
        upload = SharedUpload(client, channel, payload.bits, block, self._sim, SharedUpload.stop)
        self.admit(upload)
        return upload

    def admit(self, upload: SharedUpload) -> None:
        """Let an upload send from now on."""
        upload.send(self.share_hz(self._num_shares), self._fade)

    def _fade(self, upload: SharedUpload) -> None:
        if upload.is_sending:
            self.admit(upload)
