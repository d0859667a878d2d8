"""Upload over Rayleigh fading that is given up after a time, and the attempts until one succeeds.

b bits in a band B at mean SNR s and gain g take T = b / (B log2(1 + s g)). The gain of M antennas that are
combined is a sum of M exponentials of mean 1, so with x(t) = (2^(b / (B t)) - 1) / s

    P(T <= t) = P(g >= x(t)) = Q(M, x(t))          exp(-x(t)) for one antenna
    E[min(T, D)] = int_0^D (1 - Q(M, x(t))) dt     how long a client sends

with Q the regularised upper incomplete gamma function. Where each attempt has a gain of its own, the first
that succeeds, with p = P(T <= D), has a geometric number, and by Wald's identity

    P(N = n) = (1 - p)^(n-1) p,    E[N] = 1 / p,    E[time] = E[min(T, D)] / p

With one gain for all attempts a client that fails once fails for ever.

Conditions: the gain stays while an attempt lasts, gains of attempts are independent, the band is the client's
own, a failed attempt takes D and nothing lies between attempts.

Source: derived here; P(g >= x): Erlang's law of M stages.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.special import gammainc, gammaincc

from analysis.closed_forms.delays.symbols import Numbers, check_positive


@attrs.frozen(kw_only=True)
class FadedUpload:
    """An upload, and a deadline.

    Attributes:
        payload_bits: b.
        bandwidth_hz: B.
        snr: s, linear.
        deadline_s: D.
        num_antennas: M.

    Raises:
        ValueError: A value that is not above zero.
    """

    payload_bits: float
    bandwidth_hz: float
    snr: float
    deadline_s: float
    num_antennas: int = 1

    def __attrs_post_init__(self) -> None:
        check_positive("FadedUpload", **attrs.asdict(self))

    def arrives_within(self, time_s: ArrayLike) -> Numbers:
        """P(T <= t), in t's shape."""
        return gammaincc(self.num_antennas, self._least_gain(np.asarray(time_s, dtype=float)))

    @property
    def success_rate(self) -> float:
        """Probability that an upload arrives before the deadline, `p`."""
        return float(self.arrives_within(self.deadline_s))

    @property
    def mean_sending_s(self) -> float:
        """E[min(T, D)]."""

        def late(time_s: float) -> float:
            return float(gammainc(self.num_antennas, self._least_gain(np.asarray(time_s))))

        return float(quad(late, 0.0, self.deadline_s, epsabs=0.0, epsrel=1e-11, limit=200)[0])

    @property
    def mean_attempts(self) -> float:
        """E[N]."""
        return 1.0 / self.success_rate

    def share_of_attempts(self, num: int) -> float:
        """P(N = n)."""
        return (1.0 - self.success_rate) ** (num - 1) * self.success_rate

    @property
    def mean_time_s(self) -> float:
        """E[time] until an attempt has succeeded."""
        return self.mean_sending_s / self.success_rate

    def _least_gain(self, time_s: Numbers) -> Numbers:
        """x(t), infinite where no gain suffices."""
        with np.errstate(divide="ignore", over="ignore"):
            nats = math.log(2.0) * self.payload_bits / (self.bandwidth_hz * time_s)
            return np.expm1(nats) / self.snr
