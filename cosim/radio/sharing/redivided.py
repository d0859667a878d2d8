"""Redivided shares: the senders divide the whole band equally, again at every start and end (`division`).

Scope and limitations: the shares are equal; guard bands, framing and retransmissions are not modelled.

Validation: tests/radio/sharing/test_shares.py against a fluid model without events.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import knob, part, positive
from cosim.radio.sharing.division import Division
from cosim.radio.sharing.port import Band, Sharing
from cosim.radio.sharing.senders import Senders


@part
class RedividedShares(Sharing):
    """Equal shares for all senders, so that no bandwidth is idle.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
    """

    bandwidth_hz: float = knob(positive, default=20e6)

    @override
    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[RedividedBand]":
        return [RedividedBand(self.bandwidth_hz) for _ in range(num_cells)]


class RedividedBand(Band):
    """Band of one cell, divided among its senders.

    Args:
        bandwidth_hz: The whole band.
    """

    def __init__(self, bandwidth_hz: float) -> None:
        self._bandwidth_hz = bandwidth_hz

    @override
    def share_hz(self, num_clients: int) -> float:
        return self._bandwidth_hz / num_clients

    @override
    def machine(self, senders: Senders) -> Division:
        return Division(self.share_hz, senders)
