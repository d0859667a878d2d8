"""Fixed shares: the uplink band of one cell, divided by frequency among the participants of an edge round.

Each of the n clients has B / n until the round ends (HIST journal paper, Section IV-A). An upload continues
over changes of its fading block: it keeps the bits left and its current rate.

Scope and limitations: the shares are equal; guard bands, framing and retransmissions are not modelled.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import knob, part, positive
from cosim.radio.sharing.port import Band, Sharing


@part
class FixedShares(Sharing):
    """Equal shares for all participants of an edge round, until it ends.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
    """

    bandwidth_hz: float = knob(positive, default=20e6)

    @override
    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[FixedBand]":
        return [FixedBand(self.bandwidth_hz) for _ in range(num_cells)]


class FixedBand(Band):
    """Band of one cell, in equal shares.

    Args:
        bandwidth_hz: The whole band.
    """

    def __init__(self, bandwidth_hz: float) -> None:
        self._bandwidth_hz = bandwidth_hz

    @override
    def steady_hz(self, num_clients: int) -> float:
        return self._bandwidth_hz / num_clients
