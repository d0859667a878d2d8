"""Resource blocks: the uplink band of one cell, cut into blocks that clients hold while they send.

Each of Z physical resource blocks carries one upload at a time, alone and over its whole width. A client that
finds none free waits, without power, and gets the next one in the order of asking; among clients that asked
at one instant, the first by name.

Scope and limitations: an upload takes one block and keeps it to its end; blocks are equal, so there is no
frequency-selective fading.

Source: RawHFL paper, Sections II-A and V-A.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import between, knob, part, positive
from cosim.radio.sharing.lanes import Lanes
from cosim.radio.sharing.port import Band, Sharing
from cosim.radio.sharing.senders import Senders


@part
class ResourceBlocks(Sharing):
    """A resource block for each sender, while others wait for one.

    Attributes:
        num_blocks: Resource blocks Z of a cell. [RawHFL, Section V]
        block_hz: Width of a resource block. [RawHFL, Section V-A]
    """

    num_blocks: int = knob(between(1, 10_000), default=4)
    block_hz: float = knob(positive, default=540e3)

    @override
    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[BandOfBlocks]":
        return [BandOfBlocks(self.num_blocks, self.block_hz) for _ in range(num_cells)]


class BandOfBlocks(Band):
    """The resource blocks of one cell.

    Args:
        num_blocks: Number of resource blocks.
        block_hz: Width of a block.
    """

    def __init__(self, num_blocks: int, block_hz: float) -> None:
        self.num_at_once = num_blocks
        self._block_hz = block_hz

    @override
    def share_hz(self, num_clients: int) -> float:
        """Width of a block, for any number of clients."""
        return self._block_hz

    @override
    def machine(self, senders: Senders) -> Lanes:
        return Lanes(self.share_hz, self.num_at_once, senders)
