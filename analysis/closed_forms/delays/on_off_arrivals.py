"""Packets of a Poisson stream whose rate jumps between two values: an MMPP of two states.

The rate is r_1 for exponential times of mean 1 / s_1, then r_2 for exponential times of mean 1 / s_2, and so
on. In equilibrium it is r_1 with probability p = s_2 / (s_1 + s_2), so packets come at the mean rate
m = p r_1 + (1 - p) r_2. The covariance of the rate at two instants u apart is p (1 - p) (r_1 - r_2)^2
exp(-(s_1 + s_2) u). Given the rate, a count is Poisson, so its variance is its mean plus the variance of the
rate's integral:

    Var N(t) = m t + 2 p (1 - p) (r_1 - r_2)^2 (t / s - (1 - exp(-s t)) / s^2),  s = s_1 + s_2

The index of dispersion is Var N(t) / E N(t), 1 for a Poisson stream.

Conditions: equilibrium at the beginning of the window.

Source: Fischer and Meier-Hellstern, Performance Evaluation 18 (1993), Section 2; derived here.
"""

import math

import attrs

from analysis.closed_forms.delays.symbols import check_positive


@attrs.frozen(kw_only=True)
class OnOffStream:
    """Counts of the stream.

    Attributes:
        rates_per_s: r_1 and r_2, packets per second in the two states.
        mean_times_s: 1 / s_1 and 1 / s_2, mean durations of the two states.

    Raises:
        ValueError: A duration that is not above 0, or no packets at all.
    """

    rates_per_s: tuple[float, float]
    mean_times_s: tuple[float, float]

    def __attrs_post_init__(self) -> None:
        check_positive("OnOffStream", mean_times_s=self.mean_times_s, rates_per_s=sum(self.rates_per_s))

    @property
    def first_share(self) -> float:
        """Share of time p in the first state."""
        return self.mean_times_s[0] / sum(self.mean_times_s)

    @property
    def mean_rate_per_s(self) -> float:
        """Mean rate m."""
        return self.first_share * self.rates_per_s[0] + (1.0 - self.first_share) * self.rates_per_s[1]

    def dispersion(self, window_s: float) -> float:
        """Index of dispersion of the count in a window."""
        p, turns_per_s = self.first_share, sum(1.0 / time_s for time_s in self.mean_times_s)
        rates = p * (1.0 - p) * (self.rates_per_s[0] - self.rates_per_s[1]) ** 2
        passed = 1.0 + math.expm1(-turns_per_s * window_s) / (turns_per_s * window_s)
        return 1.0 + 2.0 * rates * passed / (turns_per_s * self.mean_rate_per_s)
