"""Clients that all restart at once: rate of versions, and staleness where every update makes one.

Client i begins its next job when the last one has come, so its reports are a renewal process of rate
mu_i = 1 / E[T_i], and all together come at L = sum_i mu_i. Every K of them make a version: L / K versions in
a second, for any laws with a mean.

With K = 1 the jobs of client i cover the time axis without gap or overlap, and the staleness of one counts
the others' reports in it. So the mean tends to their number over its number, (L - mu_i) / mu_i, for any laws.

Its law is geometric where times are exponential: seen from any instant, the next report is that of client i
with probability mu_i / L, and of another else, again and again, so P(u) = (mu_i / L) (1 - mu_i / L)^u.

Where a job takes an exponential time of rate m_j and a fixed time d besides, such as an upload's, the reports
of client j are a renewal process in equilibrium, independent of i's. The time from the start of a job of i to
the next report of j has the tail

    G_j(t) = mu_j (d - t + 1 / m_j) for t < d,    mu_j exp(-m_j (t - d)) / m_j else,

the integral of P(T_j > u) from t on over the mean. The job is fresh, of staleness 0, if they all come later:
the mean of the product of G_j(T_i) over j other than i. With d = 0 it is mu_i / L again.

Conditions: times independent of each other and of the past; K = 1 for the staleness; exponential times for
the geometric law; for the fresh share equilibrium, which a lattice law (all times multiples of one) never
reaches.

Source: derived here; renewal processes in equilibrium: Cox, "Renewal theory" (1962), chapter 2.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad


@attrs.frozen(kw_only=True)
class RestartingClients:
    """Rate of versions, and mean staleness, for any laws of the times.

    Attributes:
        mean_times_s: E[T_i] of a job of each client.
        num_updates: K.
    """

    mean_times_s: tuple[float, ...] = attrs.field(converter=tuple)
    num_updates: int = 1

    def __attrs_post_init__(self) -> None:
        _check_times("RestartingClients.mean_times_s", self.mean_times_s)

    @property
    def rates_per_s(self) -> NDArray[np.float64]:
        """mu_i, shape (clients,)."""
        return 1.0 / np.array(self.mean_times_s)

    @property
    def version_rate_per_s(self) -> float:
        """L / K."""
        return float(self.rates_per_s.sum()) / self.num_updates

    @property
    def mean_staleness(self) -> NDArray[np.float64]:
        """Of the updates of each client, K = 1, shape (clients,).

        Raises:
            ValueError: K is not 1.
        """
        if self.num_updates != 1:
            raise ValueError(
                f"RestartingClients: the mean of a client's staleness is known for num_updates = 1, not "
                f"{self.num_updates}. Use BufferedStaleness, for the mean of all."
            )
        return self.rates_per_s.sum() / self.rates_per_s - 1.0


@attrs.frozen(kw_only=True)
class ExponentialRestarts:
    """Staleness of exponential times, every update a version.

    Attributes:
        mean_times_s: 1 / m_i, the mean of the exponential part of each client's job.
        fixed_s: d, what a job of anybody takes besides.
    """

    mean_times_s: tuple[float, ...] = attrs.field(converter=tuple)
    fixed_s: float = 0.0

    def __attrs_post_init__(self) -> None:
        _check_times("ExponentialRestarts.mean_times_s", self.mean_times_s)
        if not 0.0 <= self.fixed_s < math.inf:
            raise ValueError(
                f"ExponentialRestarts.fixed_s = {self.fixed_s!r} must be finite and not negative. "
                "Use 0, where jobs are exponential as a whole."
            )

    def probabilities(self, client: int, most: int) -> NDArray[np.float64]:
        """Geometric law of a client's staleness, from 0 to `most`, shape (most + 1,).

        Raises:
            ValueError: Jobs take a fixed time besides; then it is not geometric.
        """
        if self.fixed_s:
            raise ValueError(
                f"ExponentialRestarts: staleness is geometric for fixed_s = 0, not {self.fixed_s!r}. "
                "Use fresh_share."
            )
        rates_per_s = 1.0 / np.array(self.mean_times_s)
        own = rates_per_s[client] / rates_per_s.sum()
        return own * (1.0 - own) ** np.arange(most + 1.0)

    def fresh_share(self, client: int) -> float:
        """Share of a client's updates that have staleness 0."""
        means_s = np.array(self.mean_times_s)
        others_s = np.delete(means_s, client)

        def later(times: float) -> float:
            """Density of the job, in its mean times, and probability that all others come later."""
            time_s = self.fixed_s + times * means_s[client]
            return math.exp(-times) * float(np.prod(self._tail(time_s, others_s)))

        return float(quad(later, 0.0, math.inf, epsabs=1e-12, epsrel=1e-10)[0])

    def _tail(self, time_s: float, means_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """G_j at a time not before d, shape (clients,)."""
        return means_s / (means_s + self.fixed_s) * np.exp(-(time_s - self.fixed_s) / means_s)


def _check_times(name: str, times_s: tuple[float, ...]) -> None:
    if not times_s or not all(0.0 < time_s < math.inf for time_s in times_s):
        raise ValueError(
            f"{name} = {times_s!r} must be above zero and finite, one or more. Use the mean of what "
            "a job takes, the upload included."
        )
