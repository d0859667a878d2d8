"""Sojourn time in M/H2/1: the success rate of a transmission with a deadline (VHFL paper, Theorem 2).

A packet succeeds if the time from its arrival to its departure is at most T_p. Holds for Poisson arrivals,
one server, first come first served, an infinite buffer, hyper-exponential service of two stages (eq. 2),
equilibrium and rho < 1.

Usage::

    sojourn = Sojourn(arrival_rate_per_s=2.0, weights=(0.5, 0.5), rates_per_s=(8.0, 2.0))
    sojourn.success_rate(1.0)
    sojourn.waiting_time_s(0.9)

Derivation. Write a1, a2, m1, m2, l for alpha_1, alpha_2, mu_1, mu_2, lambda_N, and m = a1 m1 + a2 m2 for
mu_{1,2}. Eq. 67 is B(s) = c(s) / ((s + m1)(s + m2)) with c(s) = m s + m1 m2. In eq. 66 a factor s cancels,
and

    D(s) = (1 - rho) c(s) / q(s),    q(s) = s^2 + (m1 + m2 - l) s + m1 m2 (1 - rho);

the last term is eq. 68's, as m1 + m2 - m = a1 m2 + a2 m1 = rho m1 m2 / l. The discriminant of q is eq. 69's
and equals (m1 - m2 - l)^2 + 4 l a2 (m1 - m2) >= 0. As q(-m1) >= 0 >= q(-m2) and q(0) > 0, the roots lie at
-m1 <= s2 <= -m2 <= s1 < 0. Partial fractions give eq. 70, whose mu stands for mu_{1,2}; its integral from
T_p on, taken from 1, gives eq. 71, which is eq. 25. So every printed sign of eqs. 25, 26 and 66 to 71 is
right.

Deviation, in form only. The roots' product is m1 m2 (1 - rho), by which eq. 25 becomes

    1 - gamma = p1 exp(s1 T_p) + p2 exp(s2 T_p),
    p1 = -c(s1) s2 / (m1 m2 (s1 - s2)) >= 0,    p2 = c(s2) s1 / (m1 m2 (s1 - s2)) >= 0,    p1 + p2 = 1:

the sojourn time is hyper-exponential too. All of it is computed from sums of terms of one sign, so no digit
is lost in the tail, for short T_p, or between nearly equal roots (a2 = 0 and l = m1 - m2). What no formula
can avoid: near rho = 1 the relative rounding error of the rates comes back in s1, 1 / (1 - rho) times as
large.

Validation: numerical inversion of eq. 66, and eq. 25 in many digits, in the tests.

Source: Wan et al., "How global observation works in federated learning" (VHFL), Section IV and Appendix B.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import root_scalar

Numbers = NDArray[np.float64]
"""Array of the input's shape; a single number for a single number."""


@attrs.frozen(kw_only=True)
class Sojourn:
    """The law of the time from arrival to departure.

    Attributes:
        arrival_rate_per_s: lambda_N.
        weights: alpha_1 and alpha_2, the probabilities of the stages.
        rates_per_s: mu_1 and mu_2, the rates of the idle and the busy network, the faster first.

    Raises:
        ValueError: If a rate is not above zero and finite, mu_2 > mu_1, the weights are no probabilities that
            sum to 1, or rho >= 1.
    """

    arrival_rate_per_s: float
    weights: tuple[float, float]
    rates_per_s: tuple[float, float]

    def __attrs_post_init__(self) -> None:
        if not 0.0 < self.arrival_rate_per_s < math.inf:
            raise ValueError(
                f"Sojourn.arrival_rate_per_s = {self.arrival_rate_per_s!r} must be above zero and finite. "
                f"Use a tiny rate for an empty queue."
            )
        if len(self.rates_per_s) != 2 or not all(0.0 < rate < math.inf for rate in self.rates_per_s):
            raise ValueError(
                f"Sojourn.rates_per_s = {self.rates_per_s!r} must be two rates above zero and finite. "
                f"Use mu_1 = mu_2 for a single stage."
            )
        if self.rates_per_s[1] > self.rates_per_s[0]:
            raise ValueError(
                f"Sojourn.rates_per_s = {self.rates_per_s!r}: the faster rate comes first. Swap "
                f"them, and the weights too."
            )
        if len(self.weights) != 2 or not all(0.0 <= weight <= 1.0 for weight in self.weights):
            raise ValueError(
                f"Sojourn.weights = {self.weights!r} must be two probabilities. Give p and 1 - p."
            )
        if abs(sum(self.weights) - 1.0) > 1e-9:
            raise ValueError(f"Sojourn.weights = {self.weights!r} must sum to 1. Give p and 1 - p.")
        if self.load >= 1.0:
            raise ValueError(
                f"Sojourn: rho = {self.load:g}, but only below 1 does the queue have an equilibrium. "
                f"Use fewer arrivals or higher rates."
            )

    @property
    def load(self) -> float:
        """rho, the share of time in which the server works."""
        return self.arrival_rate_per_s * sum(
            w / r for w, r in zip(self._shares, self.rates_per_s, strict=True)
        )

    @property
    def roots_per_s(self) -> tuple[float, float]:
        """s1 and s2 of eq. 26, both below zero, s1 >= s2."""
        fast_per_s, slow_per_s = self.rates_per_s
        _, below_per_s = self._distances_per_s
        s2_per_s = -slow_per_s - below_per_s
        return fast_per_s * (1.0 - self.load) * (slow_per_s / s2_per_s), s2_per_s

    @property
    def mean_s(self) -> float:
        """Mean sojourn time."""
        return -sum(p / s for p, s in zip(self._mixture, self.roots_per_s, strict=True))

    def success_rate(self, waiting_time_s: ArrayLike) -> Numbers:
        """`gamma` of eq. 25: the probability that a sojourn lasts at most T_p, in T_p's shape."""
        (p1, p2), (s1, s2) = self._mixture, self.roots_per_s
        time_s = np.maximum(waiting_time_s, 0.0)
        return -(p1 * np.expm1(s1 * time_s) + p2 * np.expm1(s2 * time_s))

    def failure_rate(self, waiting_time_s: ArrayLike) -> Numbers:
        """1 - gamma, precise also where it is small, in T_p's shape."""
        (p1, p2), (s1, s2) = self._mixture, self.roots_per_s
        time_s = np.maximum(waiting_time_s, 0.0)
        return p1 * np.exp(s1 * time_s) + p2 * np.exp(s2 * time_s)

    def density_per_s(self, time_s: ArrayLike) -> Numbers:
        """W(t) of eq. 70, with mu read as mu_{1,2}, in t's shape."""
        (p1, p2), (s1, s2) = self._mixture, self.roots_per_s
        since_s = np.maximum(time_s, 0.0)
        inside = -(p1 * s1 * np.exp(s1 * since_s) + p2 * s2 * np.exp(s2 * since_s))
        return np.where(np.less(time_s, 0.0), 0.0, inside)[()]

    def waiting_time_s(self, success_rate: float) -> float:
        """T_p with which a transmission succeeds at this rate (eq. 25 solved, to 12 digits).

        As exp(s2 T_p) <= 1 - gamma <= exp(s1 T_p), T_p lies in a bracket that is known.

        Raises:
            ValueError: If the rate is not strictly between 0 and 1.
        """
        if not 0.0 < success_rate < 1.0:
            raise ValueError(
                f"Sojourn.waiting_time_s: a success rate of {success_rate!r} is not reachable; it must lie "
                f"strictly between 0 and 1. Ask for more uploads than are needed, so that gamma = "
                f"K / K_0 < 1."
            )
        s1, s2 = self.roots_per_s
        exponent = -math.log1p(-success_rate)

        def excess(time_s: float) -> float:
            gamma, failing = float(self.success_rate(time_s)), float(self.failure_rate(time_s))
            return -(math.log1p(-gamma) if gamma < 0.5 else math.log(failing)) / exponent - 1.0

        bracket_s = (-0.5 * exponent / s2, -2.0 * exponent / s1)
        return root_scalar(
            excess, bracket=bracket_s, method="brentq", xtol=1e-13 * bracket_s[0], rtol=1e-13
        ).root

    def success_rate_before_service(self, waiting_time_s: ArrayLike) -> Numbers:
        """P(wait <= t) of the time from arrival to the start of the service, in t's shape.

        Not in the paper: what one gets by forgetting the packet's own service. The transform is eq. 66 less
        B(s), (1 - rho)(s + mu_1)(s + mu_2) / q(s): with probability 1 - rho a packet waits not at all, else,
        by partial fractions, for a time that is hyper-exponential with the roots s1 and s2.
        """
        (v1, v2), (s1, s2) = self._waits, self.roots_per_s
        time_s = np.maximum(waiting_time_s, 0.0)
        inside = 1.0 - self.load - (v1 * np.expm1(s1 * time_s) + v2 * np.expm1(s2 * time_s))
        return np.where(np.less(waiting_time_s, 0.0), 0.0, np.minimum(inside, 1.0))[()]

    @property
    def _shares(self) -> tuple[float, float]:
        """The weights without their rounding error; one below 1e-100 changes no digit and would underflow."""
        total = sum(self.weights)
        first, second = (weight / total if weight > 1e-100 else 0.0 for weight in self.weights)
        return first, second

    @property
    def _distances_per_s(self) -> tuple[float, float]:
        """s1 + m2 >= 0 and -(s2 + m2) >= 0: q(x - m2) = x^2 + (m1 - m2 - l) x - l a2 (m1 - m2)."""
        spread_per_s = self.rates_per_s[0] - self.rates_per_s[1]
        drift_per_s = self.arrival_rate_per_s - spread_per_s
        product = self.arrival_rate_per_s * self._shares[1] * spread_per_s
        larger = 0.5 * (abs(drift_per_s) + math.hypot(drift_per_s, 2.0 * math.sqrt(product)))
        smaller = product / larger if larger > 0.0 else 0.0
        return (larger, smaller) if drift_per_s >= 0.0 else (smaller, larger)

    @property
    def _mixture(self) -> tuple[float, float]:
        """p1 and p2: c(s1) = m (s1 + m2) + a2 m2 (m1 - m2), and c(s1) c(s2) hangs on no root."""
        (a1, a2), (m1, m2) = self._shares, self.rates_per_s
        above, below = self._distances_per_s
        s1, s2 = self.roots_per_s
        mixed = a1 * m1 + a2 * m2
        c1 = mixed * above + a2 * m2 * (m1 - m2)
        scale = m1 * m2 * (above + below)
        if min(c1, scale) == 0.0:
            return 0.0, 1.0
        c2 = -(m1 * m2 + self.arrival_rate_per_s * mixed) * a1 * a2 * (m1 - m2) ** 2 / c1
        p1, p2 = -c1 * s2 / scale, c2 * s1 / scale
        return (1.0 - p2, p2) if p2 < p1 else (p1, 1.0 - p1)

    @property
    def _waits(self) -> tuple[float, float]:
        """Weights of a wait; their sum is rho. (s1 + m1)(s2 + m1) = q(-m1) = l a1 (m1 - m2)."""
        (a1, _), (m1, m2) = self._shares, self.rates_per_s
        above, below = self._distances_per_s
        s1, s2 = self.roots_per_s
        scale = m1 * m2 * (above + below)
        if scale == 0.0:
            return 0.0, self.load
        over = above + (m1 - m2)
        under = self.arrival_rate_per_s * a1 * (m1 - m2) / over
        return -s2 * above * over / scale, -s1 * below * under / scale
