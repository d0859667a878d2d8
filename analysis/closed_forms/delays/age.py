"""Mean age of what a server knows: updates through an M/M/1 queue, first come first served.

The age is the time since the newest update that has come was made. Update i is made X_i after the one before
and takes T_i; between two arrivals the age is a trapezium, of which one with base X_i and height T_i belongs
to each update, with a triangle of X_i besides. So the mean is lambda (E[X T] + E[X^2] / 2). With T_i =
max(T_(i-1) - X_i, 0) + S_i and T_(i-1) exponential of rate mu - lambda, E[X max(T - X, 0)] is E[X exp(-(mu -
lambda) X)] / (mu - lambda) = lambda / (mu^2 (mu - lambda)), and so with rho = lambda / mu

    E[age] = (1 / mu) (1 + 1 / rho + rho^2 / (1 - rho))

least at rho = 0.531: sending less makes it older, and sending more too.

Conditions: updates made in a Poisson stream, exponential services, one server, first come first served, room
for all, rho < 1, equilibrium.

Source: Kaul, Yates and Gruteser, "Real-time status: how often should one update?", INFOCOM 2012; derived
here.
"""

import attrs

from analysis.closed_forms.delays.symbols import check_load, check_positive


@attrs.frozen(kw_only=True)
class Age:
    """Mean age.

    Attributes:
        arrival_rate_per_s: lambda, updates made per second.
        service_rate_per_s: mu.

    Raises:
        ValueError: A rate that is not above zero, or rho >= 1.
    """

    arrival_rate_per_s: float
    service_rate_per_s: float

    def __attrs_post_init__(self) -> None:
        check_positive("Age", **attrs.asdict(self))
        check_load("Age", self.load)

    @property
    def load(self) -> float:
        """Utilisation, `rho`."""
        return self.arrival_rate_per_s / self.service_rate_per_s

    @property
    def mean_s(self) -> float:
        """E[age]."""
        rho = self.load
        return (1.0 + 1.0 / rho + rho**2 / (1.0 - rho)) / self.service_rate_per_s
