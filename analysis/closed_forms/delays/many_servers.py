"""Waiting in M/M/c: Poisson arrivals, exponential services, c servers, one queue.

With a = lambda / mu, rho = a / c < 1 the number in the system is a birth-death chain, p_n proportional to a^n
/ n! up to n = c and falling by rho from there on. A packet that meets all servers busy waits; by recursion
over the servers, Erlang's loss formula B_0 = 1, B_k = a B_{k-1} / (k + a B_{k-1}) gives

    C = B_c / (1 - rho (1 - B_c))                          probability of waiting
    P(W > t) = C exp(-(c mu - lambda) t),    E[W] = C / (c mu - lambda)

since a packet that waits meets a geometric number before it, each of which goes after an exponential time of
rate c mu. For c = 1, C = rho: M/M/1, whose sojourn is exponential of rate mu - lambda.

Conditions: Poisson arrivals, exponential services independent of them, first come first served, room for all,
rho < 1, equilibrium.

Source: Kleinrock, "Queueing Systems", volume 1, Sections 3.2 and 5.7 (c = 1) and 3.5; the tail
for c > 1 is derived here.
"""

import attrs
import numpy as np
from numpy.typing import ArrayLike

from analysis.closed_forms.delays.symbols import Numbers, check_load, check_positive


@attrs.frozen(kw_only=True)
class ManyServers:
    """Waiting in M/M/c.

    Attributes:
        arrival_rate_per_s: lambda.
        service_rate_per_s: mu, of one server.
        num_servers: c.

    Raises:
        ValueError: A rate that is not above zero, no server, or rho >= 1.
    """

    arrival_rate_per_s: float
    service_rate_per_s: float
    num_servers: int = 1

    def __attrs_post_init__(self) -> None:
        check_positive("ManyServers", **attrs.asdict(self))
        check_load("ManyServers", self.load)

    @property
    def load(self) -> float:
        """rho, the share of time in which a server works."""
        return self.arrival_rate_per_s / (self.num_servers * self.service_rate_per_s)

    @property
    def waiting_share(self) -> float:
        """C, the share of packets that wait."""
        offered, blocked = self.arrival_rate_per_s / self.service_rate_per_s, 1.0
        for servers in range(1, self.num_servers + 1):
            blocked = offered * blocked / (servers + offered * blocked)
        return blocked / (1.0 - self.load * (1.0 - blocked))

    @property
    def spare_rate_per_s(self) -> float:
        """Service rate that arrivals leave over, `c mu - lambda`."""
        return self.num_servers * self.service_rate_per_s - self.arrival_rate_per_s

    @property
    def mean_waiting_s(self) -> float:
        """E[W], from the arrival to the start of the service."""
        return self.waiting_share / self.spare_rate_per_s

    @property
    def mean_sojourn_s(self) -> float:
        """E[W] + 1 / mu, from the arrival to the end of the service."""
        return self.mean_waiting_s + 1.0 / self.service_rate_per_s

    def waits_longer(self, time_s: ArrayLike) -> Numbers:
        """P(W > t), in t's shape."""
        return self.waiting_share * np.exp(-self.spare_rate_per_s * np.asarray(time_s, dtype=float))

    def stays_longer(self, time_s: ArrayLike) -> Numbers:
        """P(sojourn > t) for c = 1, in t's shape.

        Raises:
            ValueError: Several servers.
        """
        if self.num_servers != 1:
            raise ValueError(
                f"ManyServers.stays_longer: exponential for 1 server, not for {self.num_servers}. Use "
                "waits_longer."
            )
        return np.exp(-self.spare_rate_per_s * np.asarray(time_s, dtype=float))
