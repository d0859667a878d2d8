"""Unicast: an edge server sends each client its own copy of a model, in a share of its band.

It forms a beam for each, which it can since it knows the channels: with maximum-ratio transmission of M
antennas the gain is |h|^2, as it is with the uplink's maximum-ratio combining, and a client of the share b
receives b log2(1 + SNR |h|^2).

The band is shared as an uplink's is (`cosim.radio.sharing`): in fixed shares of those who take part in an
edge round, or, for protocols without rounds, of those who may be at work at the same time; or in others.

Scope and limitations: beams are not there to tell clients of one share apart; codecs, framing and
retransmissions are those of an uplink: none.

Validation: tests/radio/downlink/test_unicast.py.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import configuration, passed_over, refuse
from cosim.links.downlink import CellDownlink
from cosim.links.payload import Payload
from cosim.links.uplink import ByEvents, Cell, Job, Places, Upload, Uploads
from cosim.radio.downlink.base_station import BaseStation
from cosim.radio.radio import RadioLink
from cosim.radio.sharing.band import Sharing
from cosim.radio.sharing.shares import FixedShares
from cosim.simulation import Simulation


@configuration
class Unicast(BaseStation):
    """A copy of the model for each client, in a share of the downlink band.

    Attributes:
        sharing: How the clients of a cell share its downlink band. [no source: fixed shares]
    """

    sharing: Sharing = FixedShares()

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.sharing.adds_up:
            rule = "a model does not come as a sum"
            raise refuse("Unicast", "sharing", type(self.sharing).__name__, rule, "FixedShares")

    def links(self, sim: Simulation, cells: Sequence[Cell]) -> "list[UnicastLink]":
        """That of each cell."""
        return [
            UnicastLink(link, np.full(len(cell.clients), self.power_w))
            for cell, link in zip(cells, self.radio_links(sim, cells, self.sharing), strict=True)
        ]


class UnicastLink(CellDownlink):
    """What the clients of one cell receive over: a radio link, the other way.

    Args:
        powers_w: What the edge server sends to each with, shape (clients,); the same to all.
    """

    def __init__(self, link: RadioLink, powers_w: NDArray[np.float64]) -> None:
        self._link, self._powers_w = link, powers_w

    def by_events(self) -> ByEvents:
        """As the radio link says."""
        return super().by_events() if passed_over(self) else self._link.by_events()

    def begin_round(self, num_clients: int, places: Places | None = None) -> None:
        """Tell the band."""
        self._link.begin_round(num_clients, math.inf)

    def open(self, client: str, payload: Payload, job: Job) -> Upload:
        """Receive in the fading block of this instant."""
        return self._link.open(client, payload, self._powers_w.item(0), job)

    def downloads(
        self, places: Places, begins_s: NDArray[np.float64], payload: Payload, job: Job
    ) -> Uploads | None:
        """As the band knows them."""
        return self._link.uploads(places, begins_s, payload, self._powers_w, job)
