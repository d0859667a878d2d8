"""Renewal presence: how often a client that comes and goes is present, and stays until a job is done.

Stays and absences are independent, of means E[S] and E[A]. A client that has done so for ever is present at
an instant with probability p = E[S] / (E[S] + E[A]). What is left of the stay that is met there has the tail
integral of P(S > u) from d on, over E[S]; long stays are met more often. So a job of length d that begins at
an instant chosen beforehand finds the client there, and until it is done, with probability

    integral of P(S > u) du from d to infinity / (E[S] + E[A]),

which is p exp(-d / E[S]) where stays are exponential.

Conditions: stays and absences with means, independent of each other and of when jobs begin; the stationary
start.

Source: alternating renewal processes in equilibrium: Cox, "Renewal theory" (1962), chapter 7.
"""

import math
from collections.abc import Callable

import attrs
from scipy.integrate import quad


@attrs.frozen(kw_only=True)
class RenewalPresence:
    """Presence of one client.

    Attributes:
        mean_stay_s: E[S].
        mean_absence_s: E[A].
        stay_tail: P(S > u) for u in s.
        longest_stay_s: Beyond which the tail is 0; infinite where it never is.
    """

    mean_stay_s: float
    mean_absence_s: float
    stay_tail: Callable[[float], float]
    longest_stay_s: float = math.inf

    def __attrs_post_init__(self) -> None:
        for name in ("mean_stay_s", "mean_absence_s"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"RenewalPresence.{name} = {getattr(self, name):g}: must be finite and above 0. "
                    "Use laws with a mean."
                )

    @property
    def share(self) -> float:
        """Probability p of being there at an instant."""
        return self.mean_stay_s / (self.mean_stay_s + self.mean_absence_s)

    def met(self, job_s: float) -> float:
        """Probability of being there when a job begins and until it is done."""
        if job_s >= self.longest_stay_s:
            return 0.0
        left_s, _ = quad(self.stay_tail, job_s, self.longest_stay_s, epsabs=0.0, epsrel=1e-10)
        return left_s / (self.mean_stay_s + self.mean_absence_s)

    def met_by_fresh_stays(self, job_s: float) -> float:
        """A wrong theory: as if every job met the beginning of a stay."""
        return self.share * self.stay_tail(job_s)
