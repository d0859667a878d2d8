"""How many of n independent uploads arrive, each with a probability of its own (Poisson-binomial law).

    P(K = k) = the coefficient of z^k in prod_i (1 - p_i + p_i z)
    E[K] = sum_i p_i,    Var[K] = sum_i p_i (1 - p_i)

The binomial law of the mean probability p has the same mean and a larger variance, by sum_i (p_i - p)^2.

Conditions: uploads independent of each other.

Source: Poisson (1837); multiplied out here, one factor after the other, all terms positive.
"""

import attrs
import numpy as np

from analysis.closed_forms.delays.symbols import Numbers, check_share


@attrs.frozen(kw_only=True)
class SuccessCounts:
    """How many arrive.

    Attributes:
        success_rates: p_i.

    Raises:
        ValueError: A probability out of 0 to 1.
    """

    success_rates: tuple[float, ...] = attrs.field(converter=tuple)

    def __attrs_post_init__(self) -> None:
        for rate in self.success_rates:
            check_share("SuccessCounts", "success_rates", rate)

    @property
    def shares(self) -> Numbers:
        """P(K = k) for k = 0 to n, shape (uploads + 1,)."""
        shares = np.ones(1)
        for rate in self.success_rates:
            shares = np.append(shares * (1.0 - rate), 0.0) + np.append(0.0, shares * rate)
        return shares

    @property
    def mean_count(self) -> float:
        """E[K]."""
        return float(sum(self.success_rates))

    @property
    def variance(self) -> float:
        """Var[K]."""
        return float(sum(rate * (1.0 - rate) for rate in self.success_rates))
