"""Resource blocks: the uplink band of one cell, cut into blocks that clients hold while they send.

Each of Z physical resource blocks carries one upload at a time, alone and over its whole width. Who finds
none free waits, without power, and gets the next one in the order of asking; of those who asked at one
instant the first by name.

Scope and limitations: an upload takes one block and keeps it to its end; blocks are alike but for their
number, so there is no frequency-selective fading.

Source: RawHFL paper, Sections II-A and V-A.
"""

from cosim.radio.band import Band, Upload
from cosim.radio.link import Channel
from cosim.simulation import Event, Simulation


class ResourceBlocks:
    """The resource blocks of one cell.

    Args:
        num_blocks: How many there are.
        block_hz: Width of one.

    Attributes:
        num_blocks: How many there are.
    """

    def __init__(self, sim: Simulation, num_blocks: int, block_hz: float) -> None:
        self.num_blocks = num_blocks
        self._sim = sim
        self._block_hz = block_hz
        self._free = [Band(sim, block_hz, redivided=False) for _ in range(num_blocks)]
        self._held: dict[str, Band] = {}
        self._waiting: list[tuple[float, str, Upload]] = []
        self._dealing = False

    def share_hz(self, num_clients: int) -> float:
        """What each client can count on: one block, however many there are."""
        return self._block_hz

    def upload_s(self, channel: Channel, bits: float, block: tuple[int, ...], num_clients: int) -> float:
        """How long an upload takes in a block, once it has one."""
        return bits / channel.rate_bps(self._block_hz, block)

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Nothing: blocks do not depend on who takes part."""

    def open(self, client: str, channel: Channel, bits: int, block: tuple[int, ...]) -> Upload:
        """Ask for a resource block; the upload's `granted` comes with it."""
        upload = Upload(client, channel, bits, block, self._sim)
        upload.granted = self._sim.event()
        self._waiting.append((self._sim.now_s, client, upload))
        self._deal_soon()
        return upload

    def close(self, upload: Upload) -> None:
        """End an upload, also one that waits or has bits left, and free its block."""
        self._waiting = [row for row in self._waiting if row[2] is not upload]
        band = self._held.pop(upload.client, None)
        if band is not None:
            band.close(upload)
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
