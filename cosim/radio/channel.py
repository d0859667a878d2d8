"""Channel: signal-to-noise ratio and rate of one client's uplink.

A mean SNR (`propagation`) times the gain of fading (`fading`).

Source: rate R = B log2(1 + SNR |h|^2), HIST journal paper, Section IV-A; the base is 2, since R is in bit/s.
"""

import math

import attrs

from cosim.radio.fading import BlockFading
from cosim.radio.propagation.mean_snr import MeanSnr
from cosim.radio.redrawn import Block


@attrs.frozen(kw_only=True)
class Channel:
    """One client's uplink channel."""

    mean_snr: MeanSnr
    fading: BlockFading

    def rate_bps(self, bandwidth_hz: float, block: Block) -> float:
        """Rate in a bandwidth while a fading block lasts."""
        snr = self.mean_snr.snr_in(bandwidth_hz) * self.fading.gain(block)
        return bandwidth_hz * math.log1p(snr) / math.log(2.0)
