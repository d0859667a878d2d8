"""Broadcast latency: duration of sending a model to all clients of a cell, over Rayleigh fading.

Source: ours. The channel of client i to M antennas is CN(0, I), so |h_i|^2 is a Gamma variable of shape M
and scale 1; without a beam its SNR is snr_i |h_i|^2 / M, and its rate b log2(1 + SNR). A broadcast of s bits
takes the rate of the slowest client, so it lasts at most t if every client's SNR is at least
x(t) = 2^(s / (b t)) - 1. The clients are independent:

    P(T <= t) = prod_i Q(M, M x(t) / snr_i),

Q the regularised upper incomplete gamma function. With one antenna Q(1, y) = exp(-y): the weakest of n alike
is exponential with n times the rate.

Conditions: block fading, constant during a broadcast, exact channels, no beam, no retransmissions.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root_scalar
from scipy.special import gammaincc


@attrs.frozen(kw_only=True, eq=False)
class BroadcastLatency:
    """How long a broadcast lasts.

    Attributes:
        model_bits: s.
        bandwidth_hz: b, of the downlink.
        snr: Mean SNR of every client in it, linear, shape (clients,).
        num_antennas: M, of the edge server.
    """

    model_bits: float
    bandwidth_hz: float
    snr: NDArray[np.float64]
    num_antennas: int

    def at_most(self, lasts_s: float) -> float:
        """Probability that it lasts at most so long."""
        with np.errstate(over="ignore"):
            needed = np.expm1(np.log(2.0) * self.model_bits / (self.bandwidth_hz * lasts_s))
        return float(np.prod(gammaincc(self.num_antennas, self.num_antennas * needed / self.snr)))

    def quantile_s(self, probability: float) -> float:
        """Time within which it ends with a probability above 0 and below 1."""
        typical_s = self.model_bits / (self.bandwidth_hz * np.log2(1.0 + float(self.snr.min())))

        def excess(log_s: float) -> float:
            return self.at_most(typical_s * math.exp(log_s)) - probability

        return typical_s * math.exp(root_scalar(excess, bracket=(-20.0, 40.0), xtol=1e-13).root)
