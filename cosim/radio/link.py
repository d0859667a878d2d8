"""Links: signal-to-noise ratio and rate of one client's uplink.

The mean SNR is either given, as in the HIST paper, whatever the bandwidth, or follows from a budget:
transmit power times path gain over the noise in the client's share of the band. Fading multiplies it.

Source: rate R = B log2(1 + SNR |h|^2), HIST journal paper, Section IV-A; the base is 2, since R is in bit/s.
"""

import math

import attrs

from cosim.radio.fading import BlockFading
from cosim.units import db_to_linear, dbm_to_w


@attrs.frozen(kw_only=True)
class GivenSnr:
    """A link whose mean SNR is the same in any bandwidth."""

    snr: float

    def snr_in(self, bandwidth_hz: float) -> float:
        """Mean SNR, linear."""
        return self.snr


@attrs.frozen(kw_only=True)
class Budget:
    """A link whose mean SNR follows from received power and noise.

    Attributes:
        received_w: Transmit power times path gain.
        noise_w_per_hz: Thermal noise density times noise figure.
    """

    received_w: float
    noise_w_per_hz: float

    def snr_in(self, bandwidth_hz: float) -> float:
        """Mean SNR in a bandwidth, linear."""
        return self.received_w / (self.noise_w_per_hz * bandwidth_hz)


def noise_w_per_hz(density_dbm_per_hz: float, noise_figure_db: float) -> float:
    """Noise density at the receiver."""
    return dbm_to_w(density_dbm_per_hz) * db_to_linear(noise_figure_db)


@attrs.frozen(kw_only=True)
class Channel:
    """One client's uplink channel: link and fading."""

    link: GivenSnr | Budget
    fading: BlockFading

    def rate_bps(self, bandwidth_hz: float, block: tuple[int, ...]) -> float:
        """Rate in a bandwidth while a fading block lasts."""
        snr = self.link.snr_in(bandwidth_hz) * self.fading.gain(block)
        return bandwidth_hz * math.log1p(snr) / math.log(2.0)
