"""M/M/1/K: one server, and room for K packets with the one in service; a packet that finds K is lost.

The number of packets is a birth and death process, so in equilibrium P(k) = P(0) rho^k, k = 0 to K, with
rho = lambda / mu of any size. Arrivals see time averages (PASTA), so P(K) is the share that is lost, and the
share of time at which the room is full. By Little's law the packets that get in stay for
E[N] / (lambda (1 - P(K))).

Conditions: Poisson arrivals, exponential services, one server, equilibrium.

Source: Kleinrock, "Queueing Systems", volume 1, Section 3.6.
"""

import attrs
import numpy as np
from numpy.typing import NDArray

from analysis.closed_forms.delays.symbols import check_positive


@attrs.frozen(kw_only=True)
class FiniteRoom:
    """The queue.

    Attributes:
        arrival_rate_per_s: lambda.
        service_rate_per_s: mu.
        num_places: K, with the place in service.

    Raises:
        ValueError: A rate that is not above 0, or no place.
    """

    arrival_rate_per_s: float
    service_rate_per_s: float
    num_places: int

    def __attrs_post_init__(self) -> None:
        rates = {name: getattr(self, name) for name in ("arrival_rate_per_s", "service_rate_per_s")}
        check_positive("FiniteRoom", num_places=self.num_places, **rates)

    @property
    def shares(self) -> NDArray[np.float64]:
        """P(k), shape (K + 1,)."""
        weights = (self.arrival_rate_per_s / self.service_rate_per_s) ** np.arange(self.num_places + 1.0)
        return weights / weights.sum()

    @property
    def lost_share(self) -> float:
        """P(K)."""
        return float(self.shares[-1])

    @property
    def mean_sojourn_s(self) -> float:
        """Mean stay of packets that get in."""
        mean_num = float(self.shares @ np.arange(self.num_places + 1.0))
        return mean_num / (self.arrival_rate_per_s * (1.0 - self.lost_share))
