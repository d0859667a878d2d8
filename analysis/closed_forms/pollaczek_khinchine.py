"""Mean delays of M/G/1 (Pollaczek and Khinchine; VHFL paper, the derivative of eq. 66 at s = 0).

With arrivals at rate lambda_N and service times B that are independent of them, rho = lambda_N E[B] and

    E[wait] = lambda_N E[B^2] / (2 (1 - rho)),    E[sojourn] = E[wait] + E[B].

Holds for Poisson arrivals, one server, first come first served, an infinite buffer, equilibrium and rho < 1.
A second moment that is infinite is refused: the mean delay would be infinite too.

Source: Kleinrock, "Queueing Systems", volume 1, Section 5.5.
"""

import math

import attrs


@attrs.frozen(kw_only=True)
class PollaczekKhinchine:
    """Mean delays from two moments of the service time.

    Attributes:
        arrival_rate_per_s: lambda_N.
        mean_service_s: E[B].
        mean_square_service_s2: E[B^2].

    Raises:
        ValueError: If a value is not above zero and finite, E[B^2] < E[B]^2, or rho >= 1.
    """

    arrival_rate_per_s: float
    mean_service_s: float
    mean_square_service_s2: float

    def __attrs_post_init__(self) -> None:
        for name, value in attrs.asdict(self).items():
            if not 0.0 < value < math.inf:
                raise ValueError(
                    f"PollaczekKhinchine.{name} = {value!r} must be above zero and finite. "
                    f"Check the moments; an instant service needs no queue."
                )
        if self.mean_square_service_s2 < self.mean_service_s**2 * (1.0 - 1e-12):
            raise ValueError(
                f"PollaczekKhinchine.mean_square_service_s2 = {self.mean_square_service_s2!r} lies below "
                f"the square of mean_service_s = {self.mean_service_s!r}, a negative variance. "
                f"Give E[B^2], not the variance."
            )
        if self.load >= 1.0:
            raise ValueError(
                f"PollaczekKhinchine: rho = {self.load:g}, but only below 1 do the delays have a mean. "
                f"Use fewer arrivals or a shorter service."
            )

    @property
    def load(self) -> float:
        """rho, the share of time in which the server works."""
        return self.arrival_rate_per_s * self.mean_service_s

    @property
    def mean_waiting_s(self) -> float:
        """Mean time from the arrival to the start of the service."""
        return self.arrival_rate_per_s * self.mean_square_service_s2 / (2.0 * (1.0 - self.load))

    @property
    def mean_sojourn_s(self) -> float:
        """Mean time from the arrival to the end of the service."""
        return self.mean_waiting_s + self.mean_service_s
