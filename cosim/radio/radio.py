"""Radio: an uplink over the air, a band for each cell.

The clients of a cell share its band (`sharing`) over channels with a mean SNR (`propagation`) and block
fading (`fading`). Plans know the channels, except for errors of the gains (`gain_errors`).

Scope and limitations: cells do not disturb each other. The downlink is a separate part (`System.downlink`).
"""

import math
from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import Lack, a_share, between, knob, part, refuse
from cosim.configuration.going_together import EVERY_UPDATE
from cosim.links.port import Cell, Link
from cosim.radio.by_band import links_of
from cosim.radio.fading import Fading, Rayleigh
from cosim.radio.gain_errors import GainErrors
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.port import Propagation
from cosim.radio.radio_link import RadioLink
from cosim.radio.sharing.port import Sharing
from cosim.radio.sharing.shares import FixedShares
from cosim.records.rows import UP


@part
class Radio(Link):
    """An uplink over the air.

    Attributes:
        sharing: Rule by which the clients of a cell share its band. [HIST journal, Section IV-A: fixed
            shares]
        link: Rule for a client's mean SNR. [HIST journal, Section VI-C: given]
        fading: Variation of channels around their mean. [HIST journal, Section VI-C: Rayleigh]
        csi_error_db: Spread of the difference between the gain that a plan knows and the one that an upload
            meets, normal in dB and redrawn every edge round. [no source]
        outage_probability: Probability that nothing of an upload gets through, redrawn every edge round. [no
            source]
    """

    directions: ClassVar[tuple[str, ...]] = (UP,)
    lacks = (Lack(EVERY_UPDATE, "outage_probability above 0", lambda own: own.outage_probability > 0.0),)

    sharing: Sharing = FixedShares()
    link: Propagation = GivenSnr()
    fading: Fading = Rayleigh()
    csi_error_db: float = knob(between(0.0, 100.0), default=0.0)
    outage_probability: float = knob(a_share, default=0.0)

    def __attrs_post_init__(self) -> None:
        if not self.sharing.needs_exact_channels:
            return
        for name, shown, fits in (
            ("csi_error_db", self.csi_error_db, self.csi_error_db == 0.0),
            ("outage_probability", self.outage_probability, self.outage_probability == 0.0),
            ("fading", type(self.fading).__name__, not self.fading.within_uploads),
        ):
            if not fits:
                kind = type(self.sharing).__name__
                rule = f"{kind} needs channels that are known and do not change during an upload"
                raise refuse("Radio", name, shown, rule, "Leave it out, or use sharing = FixedShares.")

    @property
    @override
    def finite_moments(self) -> float:
        return self.fading.finite_moments if self.sharing.follows_gains else math.inf

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> list[RadioLink]:
        errors = GainErrors(sim, self.csi_error_db, self.outage_probability)
        bands, snrs = self.sharing.bands(sim, len(cells)), self.link.of_cells(sim, cells)
        return links_of(sim, cells, bands, snrs, self.fading, errors)
