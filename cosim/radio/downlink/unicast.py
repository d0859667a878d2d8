"""Unicast: an edge server sends each client its own copy of a model, in a share of its band.

It knows the channels, so it forms a beam for each client: with maximum-ratio transmission of M antennas the
gain is |h|^2, as with the uplink's maximum-ratio combining, and a client with the share b receives at the
rate b log2(1 + SNR |h|^2).

The band is shared as an uplink's is (`cosim.radio.sharing`): in fixed shares for the participants of an edge
round, or, in protocols without rounds, for the clients that may be active at the same time; or by another
rule.

Scope and limitations: beams do not separate clients in one share; as in the uplink there are no codes, no
framing and no retransmissions.

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
        sharing: Rule by which the clients of a cell share its downlink band. [no source: fixed shares]
    """

    sharing: Sharing = FixedShares()

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if lacks_in(self.sharing, ONE_BY_ONE):
            rule = "a model is not sent as a sum"
            raise refuse("Unicast", "sharing", type(self.sharing).__name__, rule, "Use FixedShares.")

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> list[RadioLink]:
        return self.radio_links(sim, cells, self.sharing)
