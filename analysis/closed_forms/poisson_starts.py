"""Jobs in flight where starts come from a Poisson process, and are lost where no client is idle.

A start of rate lambda goes to one of those idle, each with the same probability. With the set S at work,

    P(S) is proportional to lambda^|S| (n - |S|)! / n! prod_{i in S} E[T_i],

since by it S becomes S + i as often as S + i becomes S: P(S) lambda / (n - |S|) = P(S + i) / E[T_i]. This
balance holds for each client by itself, so the law of the times does not matter, only their mean (Erlang's
loss system is insensitive). Summed over sets of k,

    P(k) is proportional to lambda^k (n - k)! / n! e_k(E[T_1], ..., E[T_n]),

with the elementary symmetric polynomial e_k; for equal clients e_k = C(n, k) E[T]^k, and P(k) is proportional
to a^k / k! with a = lambda E[T], k = 0 to n. A start is lost with probability P(n), as points of a Poisson
process see what an observer sees.

Conditions: Poisson starts, times independent of all else, equilibrium.

Source: Sevastyanov, Theory of Probability and its Applications 2 (1957), for equal clients; derived above.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray


@attrs.frozen(kw_only=True)
class JobsInFlight:
    """Law of the number of jobs in flight.

    Attributes:
        start_rate_per_s: lambda.
        mean_times_s: E[T_i] of a job of each client.

    Raises:
        ValueError: If a value is not above zero and finite, or there are no clients.
    """

    start_rate_per_s: float
    mean_times_s: tuple[float, ...] = attrs.field(converter=tuple)

    def __attrs_post_init__(self) -> None:
        for name, values in (
            ("start_rate_per_s", (self.start_rate_per_s,)),
            ("mean_times_s", self.mean_times_s),
        ):
            if not values or not all(0.0 < value < math.inf for value in values):
                raise ValueError(
                    f"JobsInFlight.{name} = {getattr(self, name)!r} must be above zero, and finite. "
                    "Leave out clients that never work."
                )

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """P(k) for k = 0 to n, shape (clients + 1,)."""
        law = np.zeros(len(self.mean_times_s) + 1)
        law[0] = 1.0
        for time_s in self.mean_times_s:  # e_k, one client after the other
            law[1:] += self.start_rate_per_s * time_s * law[:-1]
        free = np.arange(len(self.mean_times_s), 0.0, -1.0)
        law[1:] /= np.cumprod(free)
        return law / law.sum()

    @property
    def mean(self) -> float:
        """Mean number in flight."""
        return float(np.arange(len(self.probabilities)) @ self.probabilities)

    @property
    def untruncated(self) -> NDArray[np.float64]:
        """Poisson's law of mean lambda mean E[T_i] for k = 0 to n, as if no start were lost; not the law."""
        mean = self.start_rate_per_s * float(np.mean(self.mean_times_s))
        return np.array(
            [math.exp(-mean) * mean**k / math.factorial(k) for k in range(len(self.mean_times_s) + 1)]
        )
