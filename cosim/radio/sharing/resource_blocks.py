"""Resource blocks: the uplink band of one cell, cut into blocks that clients hold while they send.

Each of Z physical resource blocks carries one upload at a time, alone and over its whole width. Who finds
none free waits, without power, and gets the next one in the order of asking; of those who asked at one
instant the first by name.

Scope and limitations: an upload takes one block and keeps it to its end; blocks are alike but for their
number, so there is no frequency-selective fading.

Source: RawHFL paper, Sections II-A and V-A.
"""

from collections.abc import Sequence

from cosim.configuration import between, configuration, field, positive
from cosim.links.payload import Payload
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.radio.sharing.band import Band, Sharing
from cosim.radio.sharing.shares import FixedBand, SharedUpload
from cosim.simulation import Event, Simulation


@configuration
class ResourceBlocks(Sharing):
    """A resource block for each who sends, while others wait for one.

    Attributes:
        num_blocks: Resource blocks Z of a cell. [RawHFL, Section V]
        block_hz: Width of a resource block. [RawHFL, Section V-A]
    """

    num_blocks: int = field(between(1, 10_000), default=4)
    block_hz: float = field(positive, default=540e3)

    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[BandOfBlocks]":
        """The resource blocks of each cell."""
        return [BandOfBlocks(sim, self.num_blocks, self.block_hz) for _ in range(num_cells)]


class BandOfBlocks(Band):
    """The resource blocks of one cell.

    Args:
        num_blocks: How many there are.
        block_hz: Width of one.
    """

    def __init__(self, sim: Simulation, num_blocks: int, block_hz: float) -> None:
        self.num_at_once = num_blocks
        self._sim = sim
        self._block_hz = block_hz
        self._free = [FixedBand(sim, block_hz) for _ in range(num_blocks)]
        self._held: dict[str, FixedBand] = {}
        self._waiting: list[tuple[float, str, SharedUpload]] = []
        self._dealing = False

    def share_hz(self, num_clients: int) -> float:
        """What each client can count on: one block, however many there are."""
        return self._block_hz

    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> SharedUpload:
        """Ask for a resource block; the upload's `granted` comes with it."""
        upload = SharedUpload(client, channel, payload.bits, block, self._sim, self._leave)
        upload.granted = self._sim.event()
        self._waiting.append((self._sim.now_s, client, upload))
        self._deal_soon()
        return upload

    def _leave(self, upload: SharedUpload) -> None:
        """End an upload, also one that waits or has bits left, and free its block."""
        self._waiting = [row for row in self._waiting if row[2] is not upload]
        band = self._held.pop(upload.client, None)
        if band is not None:
            upload.stop()
            self._free.append(band)
            self._deal_soon()

    def _deal_soon(self) -> None:
        """Hand out blocks when the instant is over, so that insertion decides nothing."""
        if not self._dealing and self._waiting and self._free:
            self._dealing = True
            self._sim.end_of_instant().callbacks.append(self._deal)  # type: ignore[union-attr]

    def _deal(self, event: Event) -> None:
        self._dealing = False
        self._waiting.sort(key=lambda row: row[:2])
        while self._waiting and self._free:
            _, client, upload = self._waiting.pop(0)
            band = self._held[client] = self._free.pop()
            band.admit(upload)
            assert upload.granted is not None
            upload.granted.succeed()
