"""Base station: the base of downlinks over the air, to all clients at once or to each.

Edge servers send in a separate band (frequency division: uploads and downloads do not disturb each other),
over channels with a mean SNR and block fading like the uplink's (`cosim.radio.radio`). Fading has draws of
its own, so that the uplink's draws do not change; line of sight and shadowing are the same as in the uplink
if both are drawn equally often, since a wall stands in both directions.

An edge server's power is spread evenly over its whole band. So a client has the same SNR in a share of the
band as in all of it, unlike in the uplink, where it puts its own power into its share.

Scope and limitations: channels are known exactly; cells do not disturb each other; the servers' energy is not
counted.
"""

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import knob, part, positive, refuse
from cosim.jobs.job import Job
from cosim.links.port import Cell, Link
from cosim.radio.by_band import links_of
from cosim.radio.fading import Fading, Rayleigh
from cosim.radio.gain_errors import GainErrors
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.port import CellSnr, Each, Of, Propagation
from cosim.radio.radio_link import RadioLink
from cosim.radio.sharing.port import Sharing
from cosim.records.rows import DOWN


@part
class BaseStation(Link, ABC):
    """Base of the downlinks over the air.

    Attributes:
        link: Rule for a client's mean SNR. [no source]
        fading: Variation of channels around their mean. [no source]
        tx_power_w: Transmit power of an edge server, for a link budget; None means that the SNR is given.
            [no source]
    """

    directions: ClassVar[tuple[str, ...]] = (DOWN,)
    link: Propagation = GivenSnr()
    fading: Fading = Rayleigh()
    tx_power_w: float | None = knob(positive, default=None)

    def __attrs_post_init__(self) -> None:
        kind, link = type(self).__name__, type(self.link).__name__
        if self.link.follows_power and self.tx_power_w is None:
            rule = f"{link} needs the power of an edge server"
            raise refuse(kind, "tx_power_w", None, rule, "Use tx_power_w = 20, or link = GivenSnr.")
        if not self.link.follows_power and self.tx_power_w is not None:
            rule = f"has no effect with {link}, whose SNR does not depend on it"
            raise refuse(kind, "tx_power_w", self.tx_power_w, rule, "Leave it out, or use link = LinkBudget.")

    @property
    def power_w(self) -> float:
        """Power for which the mean SNR is asked; if the SNR is given, 1 stands for all of it."""
        return 1.0 if self.tx_power_w is None else self.tx_power_w

    def radio_links(self, sim: Simulation, cells: Sequence[Cell], sharing: Sharing) -> list[RadioLink]:
        """Link of each cell's edge server."""
        powered = [cell._replace(tx_power_w=np.full(len(cell.clients), self.power_w)) for cell in cells]
        bands = sharing.bands(sim, len(cells))
        snrs = [
            Spread(snr, band.share_hz(1) * (band.num_at_once or 1))
            for band, snr in zip(bands, self.link.of_cells(sim, powered), strict=True)
        ]
        return links_of(sim.apart("downlink"), powered, bands, snrs, self.fading, GainErrors(sim, 0.0, 0.0))


class Spread(CellSnr):
    """Mean SNRs of a power that is spread evenly over a band: in each share the same as in the whole band.

    Args:
        whole: Mean SNRs of clients that all power is sent to.
    """

    def __init__(self, whole: CellSnr, bandwidth_hz: float) -> None:
        self._whole, self._bandwidth_hz = whole, bandwidth_hz

    @override
    def snr(self, clients: Of, tx_power_w: Each, factor: Each, job: Job) -> Any:
        return self._whole.snr_in(clients, tx_power_w, factor, self._bandwidth_hz, job)
