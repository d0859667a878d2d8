"""Waiting in M/D/1: Poisson arrivals, services that all last D, one server.

With rho = lambda D, the transform of the waiting time's distribution function is, by Pollaczek and Khinchine,

    (1 - rho) / (s - lambda + lambda e^(-s D)) = (1 - rho) sum_k (-lambda)^k e^(-k s D) / (s - lambda)^(k+1)

and, term by term, with u_k = lambda (t - k D),

    P(W <= t) = (1 - rho) sum_{k <= t / D} (-u_k)^k e^(u_k) / k!
    E[W] = rho D / (2 (1 - rho))                             half of what exponential services make of it

The sum's terms alternate and grow with t: of 16 digits about u_0 / 2 are lost, so t is limited to u_0 <= 25.

Conditions: Poisson arrivals, first come first served, room for all, rho < 1, equilibrium.

Source: the sum is Erlang's (1909), derived here; the mean: Kleinrock, "Queueing Systems", volume 1, Section
5.5.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike

from analysis.closed_forms.delays.symbols import Numbers, check_load, check_positive

MOST_ARRIVALS = 25.0
"""Largest u_0, at which some digits of a tail of 1e-3 are left."""


@attrs.frozen(kw_only=True)
class EqualServices:
    """Waiting in M/D/1.

    Attributes:
        arrival_rate_per_s: lambda.
        service_s: D.

    Raises:
        ValueError: A value that is not above zero, or rho >= 1.
    """

    arrival_rate_per_s: float
    service_s: float

    def __attrs_post_init__(self) -> None:
        check_positive("EqualServices", **attrs.asdict(self))
        check_load("EqualServices", self.load)

    @property
    def load(self) -> float:
        """Utilisation, `rho`."""
        return self.arrival_rate_per_s * self.service_s

    @property
    def mean_waiting_s(self) -> float:
        """E[W]."""
        return self.load * self.service_s / (2.0 * (1.0 - self.load))

    def waits_longer(self, time_s: ArrayLike) -> Numbers:
        """P(W > t), in t's shape.

        Raises:
            ValueError: A time at which too few digits are left.
        """
        times_s = np.asarray(time_s, dtype=float)
        if np.any(times_s * self.arrival_rate_per_s > MOST_ARRIVALS):
            raise ValueError(
                f"EqualServices.waits_longer: lambda t must be at most {MOST_ARRIVALS:g}, since the sum "
                "loses its digits beyond. Use a shorter time."
            )
        return np.vectorize(self._waits_longer, otypes=[float])(times_s)[()]

    def _waits_longer(self, time_s: float) -> float:
        if time_s < 0.0:
            return 1.0
        arrivals = (
            self.arrival_rate_per_s * (time_s - k * self.service_s)
            for k in range(int(time_s / self.service_s) + 1)
        )
        terms = ((-u) ** k * math.exp(u) / math.factorial(k) for k, u in enumerate(arrivals))
        return 1.0 - (1.0 - self.load) * math.fsum(terms)
