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

from collections.abc import Sequence

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import lacks_in, part, refuse
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.links.port import Cell
from cosim.radio.downlink.base_station import BaseStation
from cosim.radio.radio_link import RadioLink
from cosim.radio.sharing.port import Sharing
from cosim.radio.sharing.shares import FixedShares


@part
class Unicast(BaseStation):
    """A copy of the model for each client, in a share of the downlink band.

    Attributes:
        sharing: How the clients of a cell share its downlink band. [no source: fixed shares]
    """

    sharing: Sharing = FixedShares()

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if lacks_in(self.sharing, ONE_BY_ONE):
            rule = "a model does not come as a sum"
            raise refuse("Unicast", "sharing", type(self.sharing).__name__, rule, "Use FixedShares.")

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> list[RadioLink]:
        """That of each cell: a radio link the other way, with the power of the edge server."""
        return self.radio_links(sim, cells, self.sharing)
