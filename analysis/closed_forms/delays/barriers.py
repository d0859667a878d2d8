"""Time until the first k of n have come whose times are a shift plus an exponential.

All alike, with mean m beyond the shift d: from the moment when j have come, the next comes after an
exponential time of rate (n - j) / m, since the law has no memory. So

    E[T_(k)] = d + m (1 / n + ... + 1 / (n - k + 1)) = d + m (H_n - H_(n-k))
    Var[T_(k)] = m^2 (1 / n^2 + ... + 1 / (n - k + 1)^2)

and a barrier is k = n, whose mean grows as m log n. With unequal means m_i = 1 / r_i the last comes after

    E[T_(n)] = d + int_0^inf (1 - prod_i (1 - exp(-r_i t))) dt = d + sum_S (-1)^(|S|+1) / sum_(i in S) r_i

over the 2^n - 1 sets S that are not empty (inclusion and exclusion); the first after d + 1 / sum_i r_i.

Conditions: times independent of each other; the same shift for all.

Source: Renyi, Acta Mathematica Hungarica 4 (1953), for equal means; both derived here.
"""

from itertools import combinations
from math import fsum

import attrs

from analysis.closed_forms.delays.symbols import check_positive

MOST_CLIENTS = 16
"""Terms of either sign cancel; with 16 unequal clients, 65535 terms, 11 digits are left."""


@attrs.frozen(kw_only=True)
class EqualClients:
    """Shifted exponentials of one law.

    Attributes:
        num_clients: n.
        mean_s: m, beyond the shift.
        shift_s: d; 0 for none.

    Raises:
        ValueError: No client, or a mean that is not above zero.
    """

    num_clients: int
    mean_s: float
    shift_s: float = 0.0

    def __attrs_post_init__(self) -> None:
        check_positive("EqualClients", num_clients=self.num_clients, mean_s=self.mean_s)

    def mean_of_first_s(self, num: int) -> float:
        """E[T_(k)], until the first k have come.

        Raises:
            ValueError: More than there are, or none.
        """
        return self.shift_s + self.mean_s * fsum(1.0 / left for left in self._left(num))

    def deviation_of_first_s(self, num: int) -> float:
        """Standard deviation of T_(k); errors as for its mean."""
        return self.mean_s * fsum(1.0 / left**2 for left in self._left(num)) ** 0.5

    def _left(self, num: int) -> range:
        if not 1 <= num <= self.num_clients:
            raise ValueError(
                f"EqualClients: the first {num} of {self.num_clients}; must be from 1 to all. Use "
                "num_clients for a barrier."
            )
        return range(self.num_clients - num + 1, self.num_clients + 1)


@attrs.frozen(kw_only=True)
class UnequalClients:
    """Shifted exponentials of a mean each.

    Attributes:
        means_s: m_i, beyond the shift.
        shift_s: d; 0 for none.

    Raises:
        ValueError: A mean that is not above zero; none, or too many for the sum.
    """

    means_s: tuple[float, ...] = attrs.field(converter=tuple)
    shift_s: float = 0.0

    def __attrs_post_init__(self) -> None:
        check_positive("UnequalClients", means_s=self.means_s)
        if not 1 <= len(self.means_s) <= MOST_CLIENTS:
            raise ValueError(
                f"UnequalClients: {len(self.means_s)} means; must be from 1 to {MOST_CLIENTS}, since the sum "
                "over all sets loses digits. Use EqualClients, where they are alike."
            )

    @property
    def mean_of_first_s(self) -> float:
        """E[T_(1)]."""
        return self.shift_s + 1.0 / fsum(1.0 / mean_s for mean_s in self.means_s)

    @property
    def mean_of_last_s(self) -> float:
        """E[T_(n)]."""
        rates_per_s = [1.0 / mean_s for mean_s in self.means_s]
        return self.shift_s + fsum(
            (-1.0) ** (size + 1) / sum(some)
            for size in range(1, len(rates_per_s) + 1)
            for some in combinations(rates_per_s, size)
        )
