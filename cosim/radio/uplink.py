"""Uplink: how the updates of a cell's clients travel to their edge server.

Frequency division with fixed or redivided shares (`band`) or resource blocks (`resource_blocks`), or all at
once (`over_the_air`); block fading (`fading`), links by SNR or by budget (`link`, `cell_links`), large-scale
loss by 3GPP TR 38.901 (`pathloss`, `large_scale`). The downlink is taken to be fast and free of error, as in
the HIST and RawHFL papers.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    Port,
    at_least,
    between,
    configuration,
    field,
    not_empty,
    one_or_range,
    positive,
    refuse,
)
from cosim.radio import cell_links
from cosim.radio.band import Band, Upload
from cosim.radio.cell_links import CellLinks, gain_of_round
from cosim.radio.fading import BlockFading, Redrawn
from cosim.radio.large_scale import LargeScale
from cosim.radio.link import Channel, noise_w_per_hz
from cosim.radio.over_the_air import AirComp, AirUpload, OverTheAir
from cosim.radio.resource_blocks import ResourceBlocks
from cosim.simulation import Simulation
from cosim.topology import uniform
from cosim.units import THERMAL_NOISE_DBM_PER_HZ, db_to_linear, dbm_to_w


@configuration
class Radio(Port):
    """The uplink of every cell.

    Attributes:
        bandwidth_hz: Uplink band of one cell (fixed, redivided, over-the-air). [no source]
        sharing: Fixed: each client taking part has an equal share; redivided: those still sending split the
            whole band; resource-blocks: each has a block to itself while it sends; over-the-air: all send at
            once, and the server receives the sum. [HIST journal, Section IV-A: fixed]
        aircomp: How updates add up (over-the-air).
        resource_block_hz: Width of a resource block. [RawHFL, Section V-A]
        num_resource_blocks: Resource blocks Z of a cell. [RawHFL, Section V]
        tx_power_w: Power of a client while it sends, and the one for which snr_db holds. [no source]
        tx_power_dbm: Highest power of a client, in place of tx_power_w: one value for all, or lowest and
            highest of a range uniform in dBm; none: tx_power_w. [RawHFL, Section V-A: 20 to 30 dBm]
        bits_per_parameter: Bits of an uploaded parameter; fewer shorten the upload, and learning stays in
            float32. [HIST journal, Section VI-B: 0.91 MB for 238,200 parameters]
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
        large_scale_redrawn: When line of sight and shadowing change (budget). [RawHFL, Fig. 5a: suggests
            every edge round]
        csi_error_db: Spread of the difference between the gain that a plan knows and the one that an upload
            meets, normal in dB and redrawn every edge round. [no source]
        outage_probability: How often nothing of an upload gets through, redrawn every edge round. [no source]
    """

    bandwidth_hz: float = field(positive, default=20e6)
    sharing: Literal["fixed", "redivided", "resource-blocks", "over-the-air"] = "fixed"
    aircomp: AirComp = AirComp()
    resource_block_hz: float = field(positive, default=540e3)
    num_resource_blocks: int = field(between(1, 10_000), default=4)
    tx_power_w: float = field(positive, default=0.2)
    tx_power_dbm: tuple[float, ...] | None = field(one_or_range, between(-100.0, 100.0), default=None)
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
    large_scale_redrawn: cell_links.Redrawn = "never"
    csi_error_db: float = field(between(0.0, 100.0), default=0.0)
    outage_probability: float = field(between(0.0, 1.0), default=0.0)

    def __attrs_post_init__(self) -> None:
        if self.fading_redrawn == "coherence-time" and self.coherence_time_s is None:
            rule = "fading redrawn by coherence time needs one"
            raise refuse("Radio", "coherence_time_s", None, rule, "give one, for instance 0.1")
        if self.sharing == "over-the-air":
            for name, fits in (
                ("csi_error_db", self.csi_error_db == 0.0),
                ("outage_probability", self.outage_probability == 0.0),
                ("fading_redrawn", self.fading_redrawn != "coherence-time"),
            ):
                if not fits:
                    rule = "a sum over the air needs channels that are known and stay while it lasts"
                    raise refuse("Radio", name, getattr(self, name), rule, "leave it out, or sharing = fixed")
        levels_db = (*self.snr_db, self.noise_dbm_per_hz, self.noise_figure_db)
        if max(map(abs, levels_db)) > 300.0:
            raise refuse(
                "Radio",
                "snr_db and noise",
                levels_db,
                "levels must lie from -300 to 300 dB",
                "check the unit",
            )

    def fit(self, system: Any) -> None:
        """Refuse protocols that wait for what never comes, or need what does not arrive."""
        protocol = type(system.protocol).__name__
        if self.outage_probability and system.uplink == "radio" and not system.protocol.gives_up:
            rule = f"{protocol} waits for every update, and some would never come"
            fix = "a deadline, or a policy that keeps to its own"
            raise refuse("Radio", "outage_probability", self.outage_probability, rule, fix)
        if self.sharing == "over-the-air" and system.uplink == "radio" and not system.protocol.takes_sums:
            rule = f"{protocol} needs updates one by one, and over the air only their mean arrives"
            raise refuse("Radio", "sharing", self.sharing, rule, "fixed shares, or Hist or HFedAvg")

    def band(self, sim: Simulation) -> Band | ResourceBlocks | OverTheAir:
        """The uplink band of one cell."""
        if self.sharing == "resource-blocks":
            return ResourceBlocks(sim, self.num_resource_blocks, self.resource_block_hz)
        if self.sharing == "over-the-air":
            return OverTheAir(sim, self.aircomp, self.bandwidth_hz, self.bits_per_parameter)
        return Band(sim, self.bandwidth_hz, redivided=self.sharing == "redivided")

    def highest_power_w(self, rng: np.random.Generator) -> float:
        """One client's highest transmit power."""
        return self.tx_power_w if self.tx_power_dbm is None else dbm_to_w(uniform(self.tx_power_dbm, rng))

    def uplinks(
        self,
        sim: Simulation,
        edge: str,
        clients: Sequence[str],
        distance_m: NDArray[np.float64],
        snr_db: NDArray[np.float64],
        band: Band | ResourceBlocks | OverTheAir,
    ) -> "list[RadioUplink]":
        """The uplinks of one cell's clients; distances and SNR have shape (clients,)."""
        gains = None
        if self.link == "budget":
            gains = gain_of_round(sim, edge, clients, distance_m, self.large_scale, self.large_scale_redrawn)
        links = CellLinks(
            sim,
            edge,
            mean_snr=np.array([db_to_linear(level_db) for level_db in snr_db]),
            nominal_w=self.tx_power_w,
            gain_of_round=gains,
            noise_w_per_hz=noise_w_per_hz(self.noise_dbm_per_hz, self.noise_figure_db),
            csi_error_db=self.csi_error_db,
            outage_probability=self.outage_probability,
        )
        num_antennas = self.num_antennas if self.fading == "rayleigh" else 0
        return [
            RadioUplink(
                client=client,
                number=number,
                links=links,
                fading=BlockFading(sim, client, num_antennas, self.fading_redrawn, self.coherence_time_s),
                band=band,
            )
            for number, client in enumerate(clients)
        ]


@attrs.frozen(kw_only=True, eq=False)
class RadioUplink:
    """One client's way to its edge server over the air: its link and fading, and the band of its cell.

    Attributes:
        number: The client's number in its cell, from 0.
    """

    client: str
    number: int
    links: CellLinks
    fading: BlockFading
    band: Band | ResourceBlocks | OverTheAir

    def channel(self, tx_power_w: float, global_round: int, edge_round: int) -> Channel:
        """What an upload of this round meets."""
        link = self.links.real(self.number, tx_power_w, global_round, edge_round)
        return Channel(link=link, fading=self.fading)

    def known_snr_per_w(self, bandwidth_hz: float, global_round: int, edge_round: int) -> float:
        """SNR at 1 W in a bandwidth, as a planner knows it at this instant."""
        link = self.links.known(self.number, 1.0, global_round, edge_round)
        block = self.fading.block(global_round, edge_round)
        return link.snr_in(bandwidth_hz) * self.fading.gain(block)

    def upload_s(
        self,
        payload_bits: float,
        tx_power_w: float,
        num_clients: int,
        global_round: int,
        edge_round: int = 0,
    ) -> float:
        """How long an upload takes where so many share the band, as a planner knows it at this instant."""
        link = self.links.known(self.number, tx_power_w, global_round, edge_round)
        block = self.fading.block(global_round, edge_round)
        return self.band.upload_s(Channel(link=link, fading=self.fading), payload_bits, block, num_clients)

    def received(self, tx_power_w: float, global_round: int, edge_round: int) -> NDArray[np.complex128]:
        """Channel vector of a round times the amplitude of power over noise, shape (antennas,)."""
        assert isinstance(self.band, OverTheAir)
        link = self.links.known(self.number, tx_power_w, global_round, edge_round)
        snr = link.snr_in(self.band.share_hz(1))  # the power is spread over all subcarriers of the band
        return math.sqrt(snr) * self.fading.vector(self.fading.block(global_round, edge_round))

    def open(
        self, payload_bits: int, tx_power_w: float, global_round: int, edge_round: int
    ) -> Upload | AirUpload:
        """Start an upload in the fading block of this round."""
        block = self.fading.block(global_round, edge_round)
        channel = self.channel(tx_power_w, global_round, edge_round)
        return self.band.open(self.client, channel, payload_bits, block)

    def close(self, upload: Upload | AirUpload) -> None:
        """End an upload, also before all its bits are through, and free its share of the band."""
        self.band.close(upload)  # type: ignore[arg-type]
