"""Closed network of queues: m jobs that go to client i with probability p_i, first come first served.

Client i serves one job at a time, in an exponential time of rate mu_i. A job that is done makes a version and
is followed at once by one for a newly drawn client. With x_i jobs at client i, including jobs in service, the
equilibrium is a product,

    P(x) = prod_i (p_i / mu_i)^x_i / Z_m,    x_1 + ... + x_n = m,

as it balances what leaves a state by a job of client i with what enters it by a job for client i:
P(x) mu_i = sum_j P(x - e_i + e_j) mu_j p_i, where each term of the sum is P(x) mu_i p_j. Buzen's recursion
over clients gives the normaliser, Z_k(i) = Z_k(i - 1) + (p_i / mu_i) Z_{k-1}(i), with Z_0 = 1.

- P(x_i >= k) = (p_i / mu_i)^k Z_{m-k} / Z_m: a factor comes out and m - k jobs are left.
- Client i works with P(x_i >= 1), so versions come at sum_i mu_i P(x_i >= 1) = Z_{m-1} / Z_m in a second.
- A version finds the others as they are in equilibrium with m - 1 jobs: the flow of jobs that leave client j
  while the others are at y is P(y + e_j) mu_j, which is proportional to P_{m-1}(y) whatever j is. It ages by
  one each of the y_i jobs at client i, E_{m-1}[x_i] in the mean, and jobs of client i are p_i of all. So the
  mean staleness of client i ("relative delay") is E_{m-1}[x_i] / p_i.
- Summed, sum_i p_i E[R_i] = m - 1. This needs no exponential service: a version ages the m - 1 other jobs.

Conditions: exponential service, independent of all else, for everything but the sum; equilibrium.

Source: Leconte et al., "Queueing dynamics of asynchronous federated learning", arXiv 2405.00017; Buzen,
Communications of the ACM 16 (1973). Derived again above.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray


@attrs.frozen(kw_only=True)
class ClosedNetwork:
    """Throughput and staleness.

    Attributes:
        num_jobs: m.
        shares: p_i, 1 in sum.
        mean_times_s: 1 / mu_i, of a job in service.

    Raises:
        ValueError: If there is no job, a share or time is not above zero, they do not match, or the shares do
            not sum to 1 within 1e-9.
    """

    num_jobs: int
    shares: tuple[float, ...] = attrs.field(converter=tuple)
    mean_times_s: tuple[float, ...] = attrs.field(converter=tuple)

    def __attrs_post_init__(self) -> None:
        p, times_s = self.shares, self.mean_times_s
        for name, is_right, rule, fix in (
            ("num_jobs", self.num_jobs >= 1, "be at least 1", "Use as many as are in flight."),
            ("shares", all(share > 0.0 for share in p), "be above zero", "Leave idle clients out."),
            ("shares", abs(math.fsum(p) - 1.0) <= 1e-9, "sum to 1", "Divide each by their sum."),
            ("mean_times_s", len(times_s) == len(p), "be as many as the shares", "Give one for each client."),
            (
                "mean_times_s",
                all(0.0 < t < math.inf for t in times_s),
                "be above zero, and finite",
                "Give 1 / mu.",
            ),
        ):
            if not is_right:
                value = getattr(self, name)
                raise ValueError(f"ClosedNetwork.{name} = {value!r} must {rule}. {fix}")

    @property
    def version_rate_per_s(self) -> float:
        """Z_{m-1} / Z_m."""
        return float(self._normalisers[-2] / self._normalisers[-1]) / self._unit_s

    @property
    def mean_staleness(self) -> NDArray[np.float64]:
        """E_{m-1}[x_i] / p_i of each client, shape (clients,)."""
        return self.mean_jobs(self.num_jobs - 1) / np.array(self.shares)

    def mean_jobs(self, num_jobs: int) -> NDArray[np.float64]:
        """E[x_i] with `num_jobs` jobs, at most m, in equilibrium, shape (clients,)."""
        z, powers = self._normalisers, np.arange(1, num_jobs + 1)
        return (self._loads[:, None] ** powers * z[num_jobs - powers]).sum(axis=1) / z[num_jobs]

    @property
    def _unit_s(self) -> float:
        """The largest p_i / mu_i, in which all are measured lest powers overflow."""
        return max(share * time_s for share, time_s in zip(self.shares, self.mean_times_s, strict=True))

    @property
    def _loads(self) -> NDArray[np.float64]:
        return np.array(self.shares) * np.array(self.mean_times_s) / self._unit_s

    @property
    def _normalisers(self) -> NDArray[np.float64]:
        """Z_0 to Z_m, shape (m + 1,)."""
        z = np.zeros(self.num_jobs + 1)
        z[0] = 1.0
        for load in self._loads:
            for k in range(1, self.num_jobs + 1):
                z[k] += load * z[k - 1]
        return z
