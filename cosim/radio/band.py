"""Bandwidth sharing: the uplink band of one cell, divided by frequency among those who send.

With *fixed* shares each of the n clients that take part in an edge round has B / n until the round ends
(HIST journal paper, Section IV-A). With *redivided* shares those still sending split the whole band anew
whenever somebody starts or ends. An upload lives through such changes, and through changes of its fading
block: it knows the bits it has left and its current rate.

Scope and limitations: the shares are equal; guard bands, framing and retransmissions are not modelled.
"""

import math

from cosim.radio.link import Channel
from cosim.simulation import Event, Simulation


class Upload:
    """An upload: bits left at an instant, and the rate since then.

    Attributes:
        done: Comes when all bits are through.
        granted: Comes when the upload may start; None: it may at once.
        bits_left: Bits that were left at the last change of rate, or at the end.
        beside: Those whose shares change with this upload's, itself included; empty: it does not send.
    """

    def __init__(
        self, client: str, channel: Channel, bits: int, block: tuple[int, ...], sim: Simulation
    ) -> None:
        self.client = client
        self.done: Event = sim.event()
        self.granted: Event | None = None
        self.bits_left = float(bits)
        self.beside: tuple[Upload, ...] = ()
        self._channel = channel
        self._block = block
        self._block_end_s = channel.fading.block_end_s(block)
        self._sim = sim
        self._share_hz = 0.0
        self._rate_bps = 0.0
        self._since_s = sim.now_s
        self._end_s = math.inf

    @property
    def next_change_s(self) -> float:
        """When the upload ends at its current rate, or its fading block does."""
        return min(self._end_s, self._block_end_s)

    def has_ended(self) -> bool:
        """Whether all bits are through at this instant."""
        return self._end_s <= self._sim.now_s

    def update(self, share_hz: float) -> None:
        """Go on with this share of the band and with the fading block of this instant."""
        fades = self._block_end_s <= self._sim.now_s
        if share_hz == self._share_hz and not fades:
            return
        self.pause()
        if fades:
            self._block = (self._block[0] + 1,)
            self._block_end_s = self._channel.fading.block_end_s(self._block)
        self._share_hz = share_hz
        self._rate_bps = self._channel.rate_bps(share_hz, self._block)
        self._end_s = self._sim.now_s + self.bits_left / self._rate_bps if self._rate_bps else math.inf

    def pause(self) -> None:
        """Count what has been sent until now."""
        sent_bits = self._rate_bps * (self._sim.now_s - self._since_s)
        self.bits_left = 0.0 if self.has_ended() else max(0.0, self.bits_left - sent_bits)
        self._since_s = self._sim.now_s


class Band:
    """The uplink band of one cell.

    Args:
        bandwidth_hz: The whole band.
        redivided: Whether those still sending split the whole band anew at every start and end.
    """

    def __init__(self, sim: Simulation, bandwidth_hz: float, *, redivided: bool) -> None:
        self._sim = sim
        self._bandwidth_hz = bandwidth_hz
        self._redivided = redivided
        self._num_shares = 1
        self._uploads: dict[str, Upload] = {}

    def share_hz(self, num_clients: int) -> float:
        """What each of so many clients can count on in an edge round."""
        return self._bandwidth_hz / num_clients

    def upload_s(self, channel: Channel, bits: float, block: tuple[int, ...], num_clients: int) -> float:
        """How long an upload takes in the share that each of so many clients can count on."""
        return bits / channel.rate_bps(self.share_hz(num_clients), block)

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Fix the shares of an edge round that begins now."""
        self._num_shares = max(1, num_clients)

    def open(self, client: str, channel: Channel, bits: int, block: tuple[int, ...]) -> Upload:
        """Start an upload; its `done` comes when all bits are through."""
        upload = Upload(client, channel, bits, block, self._sim)
        self.admit(upload)
        return upload

    def admit(self, upload: Upload) -> None:
        """Let an upload send from now on."""
        self._uploads[upload.client] = upload
        self._divide(upload)

    def close(self, upload: Upload) -> None:
        """End an upload, also before all its bits are through."""
        if self._uploads.get(upload.client) is upload:
            upload.pause()
            self._remove(upload)
            self._divide()

    def _remove(self, upload: Upload) -> None:
        del self._uploads[upload.client]
        upload.beside = ()

    def _divide(self, *changed: Upload) -> None:
        """Go on with the shares of this instant: who changed, or, where shares are redivided, everyone."""
        if self._redivided:
            self._go_on(tuple(self._uploads.values()), len(self._uploads))
        else:
            for upload in changed:
                self._go_on((upload,), self._num_shares)

    def _go_on(self, uploads: tuple[Upload, ...], num_shares: int) -> None:
        """Send until one of these uploads changes by itself."""
        next_change_s = math.inf
        for upload in uploads:
            upload.beside = uploads
            upload.update(self._bandwidth_hz / num_shares)
            next_change_s = min(next_change_s, upload.next_change_s)
        if next_change_s < math.inf:
            timer = self._sim.timer(max(0.0, next_change_s - self._sim.now_s))
            timer.callbacks.append(lambda _: self._change(uploads))  # type: ignore[union-attr]

    def _change(self, uploads: tuple[Upload, ...]) -> None:
        """End what has ended and divide anew, unless a later division has done so."""
        sending = [upload for upload in uploads if upload.beside is uploads]
        for upload in sending:
            if upload.has_ended():
                upload.pause()
                self._remove(upload)
                upload.done.succeed()
        if sending:
            self._divide(*(upload for upload in sending if upload.beside))
