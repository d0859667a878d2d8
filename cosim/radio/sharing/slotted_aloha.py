"""Slotted ALOHA: random access to the uplink band of one cell, without a scheduler.

Time is divided into slots of equal length from the start of the run, and the band into m channels of equal
width. A client with something to send does so in each slot with a probability p, in a channel drawn
uniformly; so a packet after a collision waits a geometric number of slots (probabilistic back-off). A packet
that is alone in its channel gets through, with as many bits as the client's rate in a channel at the
beginning of its slot gives in a slot; all others are lost. An upload ends with the slot of its last packet.

The slot of an attempt is drawn by the client and the slot of the attempt before, so attempts of one client do
not change another's; the clock has one event for each slot in which a client sends, and none for the others.

Scope and limitations: every client learns at the end of a slot if its packet got through, at no cost; no
capture, no carrier sensing, one p for new and repeated packets. An upload that begins during a slot waits for
the next. An upload that is cut off within a slot has not sent its packet and disturbs the others to the end
of the slot. The duration of an upload is not known beforehand, so plans that ask are refused. It runs by
events.

Records written: spans "wait", at no transmit power, and "send", one for each attempt.

Source: Roberts, "ALOHA packet system with and without slots and capture" (1975).

Validation: `cosim validate slotted-aloha`; tests/radio/sharing/test_slotted_aloha.py.
"""

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count

from typing_extensions import override

from cosim.clock.draws import uniforms
from cosim.clock.instants import instant_after, num_periods
from cosim.clock.simulation import Event, Simulation
from cosim.configuration import ConfigurationError, Lack, a_share, at_least, knob, lasting, part, positive
from cosim.configuration.going_together import KNOWN_TIMES
from cosim.jobs.payload import Payload
from cosim.links.upload import Upload
from cosim.names import by_number
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.radio.sharing.port import Band, Sharing

MOST_IN_VAIN = 100_000
"""Most slots in a row in which clients send without success, after which none is expected."""
_MOST_BLOCKS = 1_000_000
"""Fading blocks between two packets of a client. [no source]"""
_ROUNDING = 1e-9


@part
class SlottedAloha(Sharing):
    """Random access in slots to channels of a band.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
        num_channels: Channels m of equal width. [no source]
        slot_s: Length of a slot. [no source]
        transmit_probability: Probability p with which a client that has something to send does so in a slot;
            with n of them min(1, m / n) is best. [no source]
    """

    lacks = (Lack(KNOWN_TIMES),)

    bandwidth_hz: float = knob(positive, default=20e6)
    num_channels: int = knob(at_least(1), default=1)
    slot_s: float = knob(lasting, default=1e-3)
    transmit_probability: float = knob(positive, a_share, default=0.1)

    @override
    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[AlohaBand]":
        return [AlohaBand(sim, self) for _ in range(num_cells)]


class AlohaUpload(Upload):
    """An upload, packet by packet.

    Attributes:
        attempt: Slot in which it sends next.
    """

    def __init__(
        self, client: str, channel: Channel, bits: float, block: Block, attempt: int, band: "AlohaBand"
    ) -> None:
        self.client, self.attempt, self._band = client, attempt, band
        self.granted: Event | None = band.event()
        self.done: Event = band.event()
        self._bits, self._sent_bits, self._sending_bits, self._arrives_s = float(bits), 0.0, 0.0, 0.0
        self._channel, self._block = channel, block

    @property
    @override
    def bits_left(self) -> float:
        """Bits of packets that have not got through."""
        if self.done.processed:
            return 0.0
        arrived = self._sending_bits if self._arrives_s <= self._band.now_s else 0.0
        return max(0.0, self._bits - self._sent_bits - arrived)

    @override
    def close(self) -> None:
        self._band.leave(self)

    def packet_bits(self, channel_hz: float, slot_s: float, begins_s: float) -> float:
        """Bits of a packet that begins now, in the fading block of this instant."""
        num_passed = 0
        while self._channel.block_end_s(self._block) <= begins_s:
            self._block = self._channel.fading.after(self._block)
            num_passed += 1
            if num_passed > _MOST_BLOCKS:
                raise ConfigurationError(
                    f"{self.client} sends no packet for more than {_MOST_BLOCKS:,} fading blocks, up to "
                    f"{begins_s:.6g} s. Use a larger SlottedAloha.transmit_probability, or a longer "
                    "coherence time."
                )
        return slot_s * self._channel.rate_bps(channel_hz, self._block)

    def send(self, bits: float, end_s: float) -> None:
        """Send a number of bits from now until an instant; 0 if the packet is lost."""
        self._sent_bits += self._sending_bits
        self._sending_bits, self._arrives_s = bits, end_s
        granted, is_last = self.granted, self._bits - self._sent_bits - bits <= _ROUNDING * bits
        assert granted is not None
        ended = self._band.at(end_s)
        if bits and is_last:
            self.turn_over = None
            ended.callbacks.append(lambda _: self._end())  # type: ignore[union-attr]
        else:
            self.turn_over, self.granted = ended, self._band.event()
        granted.succeed()

    @property
    def sends_last(self) -> bool:
        """True if the packet on its way is the last."""
        return self.turn_over is None

    def _end(self) -> None:
        if self._band.leave(self):
            self.done.succeed()


class AlohaBand(Band):
    """Uplink band of one cell under random access."""

    is_known = False

    def __init__(self, sim: Simulation, settings: SlottedAloha) -> None:
        self._sim, self._settings = sim, settings
        self._channel_hz = settings.bandwidth_hz / settings.num_channels
        self._backlogged: dict[str, AlohaUpload] = {}
        self._attempts: list[tuple[int, tuple[str, int], int, AlohaUpload]] = []
        self._count = count()
        self._next = self._last = -1
        self._in_vain = 0
        self.event, self.at = sim.event, sim.at

    @property
    def now_s(self) -> float:
        """Current instant, on the clock."""
        return self._sim.now_s

    @override
    def share_hz(self, num_clients: int) -> float:
        """Width of a channel, for any number of clients."""
        return self._channel_hz

    @override
    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> AlohaUpload:
        """Begin an upload with the next slot."""
        slot = num_periods(self._sim.now_s, self._settings.slot_s)
        while self._start_s(slot) < self._sim.now_s or slot <= self._last:
            slot += 1
        attempt = self._drawn(client, slot - 1)
        upload = AlohaUpload(client, channel, payload.bits, block, attempt, self)
        self._backlogged[client] = upload
        self._plan(upload)
        self._wake()
        return upload

    def leave(self, upload: AlohaUpload) -> bool:
        """End an upload, even if bits are left; True if it had not ended yet."""
        is_backlogged = self._is_backlogged(upload)
        if is_backlogged:
            del self._backlogged[upload.client]
        return is_backlogged

    def _is_backlogged(self, upload: AlohaUpload) -> bool:
        return self._backlogged.get(upload.client) is upload

    def _start_s(self, slot: int) -> float:
        return instant_after(0.0, slot * self._settings.slot_s)

    def _drawn(self, client: str, slot: int) -> int:
        """Slot of the next attempt after a given one."""
        p, drawn = (
            self._settings.transmit_probability,
            self._sim.of_client(client, "back-off", uniforms, slot),
        )
        return slot + 1 + (int(math.log1p(-float(drawn)) / math.log1p(-p)) if p < 1.0 else 0)

    def _channel_of(self, upload: AlohaUpload) -> int:
        drawn = self._sim.of_client(upload.client, "random channel", uniforms, upload.attempt)
        return int(float(drawn) * self._settings.num_channels)

    def _plan(self, upload: AlohaUpload) -> None:
        """Schedule the next attempt of an upload."""
        order = upload.attempt, by_number(upload.client), next(self._count)
        heappush(self._attempts, (*order, upload))

    def _wake(self) -> None:
        """Wake up at the first slot in which a client sends."""
        while self._attempts and not self._is_backlogged(self._attempts[0][-1]):
            heappop(self._attempts)
        if not self._attempts or self._next == self._attempts[0][0]:
            return
        slot = self._next = self._attempts[0][0]
        comes = self._sim.at(self._start_s(slot))
        comes.callbacks.append(lambda _: self._soon(slot))  # type: ignore[union-attr]

    def _soon(self, slot: int) -> None:
        """Begin the slot when the instant is over, after all uploads that begin or end in it."""
        if slot == self._next:
            over = self._sim.end_of_instant()
            over.callbacks.append(lambda _: self._begin(slot))  # type: ignore[union-attr]

    def _begin(self, slot: int) -> None:
        """Let the uploads of this slot send, and schedule the next one."""
        if slot != self._next:
            return
        self._next, self._last = -1, slot
        senders: list[AlohaUpload] = []
        while self._attempts and self._attempts[0][0] == slot:
            upload = heappop(self._attempts)[-1]
            if self._is_backlogged(upload):
                senders.append(upload)
        channels = [self._channel_of(upload) for upload in senders]
        start_s, end_s = self._start_s(slot), self._start_s(slot + 1)
        alone = [channels.count(channel) == 1 for channel in channels]
        self._in_vain = 0 if any(alone) or not senders else self._in_vain + 1
        if self._in_vain > MOST_IN_VAIN:
            raise self._hopeless(len(self._backlogged))
        for upload, is_alone in zip(senders, alone, strict=True):
            bits = upload.packet_bits(self._channel_hz, self._settings.slot_s, start_s) if is_alone else 0.0
            upload.send(bits, end_s)
            if not upload.sends_last:
                upload.attempt = self._drawn(upload.client, slot)
                self._plan(upload)
        self._wake()

    def _hopeless(self, num_clients: int) -> ConfigurationError:
        p, num_channels = self._settings.transmit_probability, self._settings.num_channels
        return ConfigurationError(
            f"SlottedAloha.transmit_probability = {p:g}: none of {num_clients} clients has got through "
            f"{num_channels} channels in {MOST_IN_VAIN:,} slots. Use "
            f"{min(1.0, num_channels / num_clients):.3g}, the channels per client.",
            "SlottedAloha.transmit_probability",
        )
