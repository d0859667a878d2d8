"""Uplink: how the updates of a cell's clients travel to their edge server.

Frequency division with fixed or redivided shares (`band`), block fading (`fading`), links by SNR or by
budget (`link`), large-scale loss by 3GPP TR 38.901 (`pathloss`, `large_scale`). The downlink is taken to be
fast and free of error, as in the HIST paper.
"""

from typing import Literal

import attrs
import numpy as np

from cosim.configuration import at_least, configuration, field, not_empty, positive, refuse
from cosim.radio.band import Band, Upload
from cosim.radio.fading import BlockFading, Redrawn
from cosim.radio.large_scale import LargeScale
from cosim.radio.link import Budget, Channel, GivenSnr, noise_w_per_hz
from cosim.simulation import Simulation
from cosim.units import THERMAL_NOISE_DBM_PER_HZ, db_to_linear


@configuration
class Radio:
    """The uplink of every cell.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
        sharing: Fixed: each client taking part has an equal share; redivided: those still sending split the
            whole band. [HIST journal, Section IV-A: fixed]
        tx_power_w: Power of a client while it sends. [no source]
        bits_per_parameter: Precision of an uploaded parameter. [HIST journal, Section VI-B: 0.91 MB for
            238,200 parameters]
        link: How a client's mean SNR is found: given by snr_db, or by budget (transmit power, path loss,
            noise). [HIST journal, Section VI-C: given]
        snr_db: Mean SNR before fading: one value for all, one per group of cells, or one per client. [HIST
            journal, Section VI-C]
        noise_dbm_per_hz: Noise density at the edge server (budget). [no source: thermal noise at 290 K]
        noise_figure_db: Noise figure of the edge server (budget). [no source]
        fading: Rayleigh, or none. [HIST journal, Section VI-C: Rayleigh]
        num_antennas: Antennas of an edge server. [HIST journal, Section VI-C]
        fading_redrawn: When the channel changes. [HIST journal, Section IV-A: every global round]
        coherence_time_s: Length of a fading block, where fading is redrawn by coherence time; else none. [no
            source]
        large_scale: Path loss and shadowing (budget).
    """

    bandwidth_hz: float = field(positive, default=20e6)
    sharing: Literal["fixed", "redivided"] = "fixed"
    tx_power_w: float = field(positive, default=0.2)
    bits_per_parameter: int = field(at_least(1), default=32)
    link: Literal["snr", "budget"] = "snr"
    snr_db: tuple[float, ...] = field(not_empty, default=(30.0, 40.0))
    noise_dbm_per_hz: float = THERMAL_NOISE_DBM_PER_HZ
    noise_figure_db: float = 7.0
    fading: Literal["rayleigh", "none"] = "rayleigh"
    num_antennas: int = field(at_least(1), default=10)
    fading_redrawn: Redrawn = "global-round"
    coherence_time_s: float | None = field(at_least(1e-6), default=None)
    large_scale: LargeScale = LargeScale(environment="uma")

    def __attrs_post_init__(self) -> None:
        if self.fading_redrawn == "coherence-time" and self.coherence_time_s is None:
            rule = "fading redrawn by coherence time needs one"
            raise refuse("Radio", "coherence_time_s", None, rule, "give one, for instance 0.1")
        levels_db = (*self.snr_db, self.noise_dbm_per_hz, self.noise_figure_db)
        if max(map(abs, levels_db)) > 300.0:
            raise refuse(
                "Radio",
                "snr_db and noise",
                levels_db,
                "levels must lie from -300 to 300 dB",
                "check the unit",
            )

    def channel(self, sim: Simulation, client: str, distance_m: float, snr_db: float) -> Channel:
        """One client's channel to its edge server."""
        return Channel(
            link=GivenSnr(snr=db_to_linear(snr_db))
            if self.link == "snr"
            else self._budget(sim, client, distance_m),
            fading=BlockFading(
                sim,
                client,
                self.num_antennas if self.fading == "rayleigh" else 0,
                self.fading_redrawn,
                self.coherence_time_s,
            ),
        )

    def _budget(self, sim: Simulation, client: str, distance_m: float) -> Budget:
        draw = self.large_scale.draw(np.array([distance_m]), sim.stream(client, "large-scale"))
        return Budget(
            received_w=self.tx_power_w * float(draw.gain[0]),
            noise_w_per_hz=noise_w_per_hz(self.noise_dbm_per_hz, self.noise_figure_db),
        )


@attrs.frozen(kw_only=True, eq=False)
class RadioUplink:
    """One client's way to its edge server over the air: its channel, and the band of its cell."""

    client: str
    channel: Channel
    band: Band

    def open(self, payload_bits: int, global_round: int, edge_round: int) -> Upload:
        """Start an upload in the fading block of this round."""
        block = self.channel.fading.block(global_round, edge_round)
        return self.band.open(self.client, self.channel, payload_bits, block)

    def close(self, upload: Upload) -> None:
        """End an upload, also before all its bits are through, and free its share of the band."""
        self.band.close(upload)
