"""Delay through M/M/1 stations one after the other.

What leaves an M/M/1 queue in equilibrium is a Poisson stream of rate lambda, and what left before an instant
tells nothing about the queue then: backwards in time, departures are the arrivals of the same chain (Burke).
So each station is an M/M/1 queue of its own, and a packet's sojourns are independent of each other (Reich),
each exponential of rate a_i = mu_i - lambda:

    E[T] = sum_i 1 / a_i
    P(T > t) = (a_2 exp(-a_1 t) - a_1 exp(-a_2 t)) / (a_2 - a_1),    (1 + a t) exp(-a t) where a_1 = a_2

Conditions: Poisson arrivals to the first, exponential services drawn independently at each station (a packet
that keeps its length is another system), one server each, first come first served, room for all, lambda <
mu_i, equilibrium.

Source: Burke, Operations Research 4 (1956); Reich, Annals of Mathematical Statistics 28 (1957) and 34 (1963);
the sum's law derived here.
"""

import math

import attrs

from analysis.closed_forms.delays.symbols import check_load, check_positive


@attrs.frozen(kw_only=True)
class Tandem:
    """Delay through two M/M/1 stations.

    Attributes:
        arrival_rate_per_s: lambda.
        service_rates_per_s: mu_1 and mu_2.

    Raises:
        ValueError: A rate that is not above zero, or a station with rho >= 1.
    """

    arrival_rate_per_s: float
    service_rates_per_s: tuple[float, float]

    def __attrs_post_init__(self) -> None:
        check_positive("Tandem", **attrs.asdict(self))
        check_load("Tandem", self.arrival_rate_per_s / min(self.service_rates_per_s))

    @property
    def spare_rates_per_s(self) -> tuple[float, float]:
        """a_1 and a_2."""
        first, second = self.service_rates_per_s
        return first - self.arrival_rate_per_s, second - self.arrival_rate_per_s

    @property
    def mean_sojourn_s(self) -> float:
        """E[T]."""
        return sum(1.0 / rate for rate in self.spare_rates_per_s)

    def stays_longer(self, time_s: float) -> float:
        """P(T > t): exp(-a t) (1 + a (1 - exp(-d t)) / d) with a the smaller rate and d the difference."""
        slow, fast = sorted(self.spare_rates_per_s)
        apart = fast - slow
        lasts_s = time_s if apart == 0.0 else -math.expm1(-apart * time_s) / apart
        return math.exp(-slow * time_s) * (1.0 + slow * lasts_s)
