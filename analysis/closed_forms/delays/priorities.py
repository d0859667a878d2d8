"""Mean waiting of two classes in M/G/1, the first before the second, without interruption.

With rho_i = lambda_i E[B_i] and W_0 = sum_i lambda_i E[B_i^2] / 2, the mean rest of the service that an
arrival meets (Poisson arrivals see time averages, and a service of class i is met by its length),

    E[W_1] = W_0 / (1 - rho_1)
    E[W_2] = W_0 / ((1 - rho_1) (1 - rho_1 - rho_2))

A packet of class 1 waits for that rest and, by Little's law, for lambda_1 E[W_1] packets of its class. One of
class 2 waits for the rest, for the packets of both classes that it meets, and for the packets of class 1 that
overtake it while it waits: E[W_2] = W_0 + rho_1 E[W_1] + rho_2 E[W_2] + rho_1 E[W_2].

Unfinished work is the same in any order, and so is, if no order looks at the services,

    rho_1 E[W_1] + rho_2 E[W_2] = rho W_0 / (1 - rho)        the conservation law

Conditions: Poisson arrivals, services independent of them and of the order, one server that never rests while
a packet waits, no interruption, rho_1 + rho_2 < 1, equilibrium.

Source: Cobham, Operations Research 2 (1954); Kleinrock, Naval Research Logistics Quarterly 12 (1965), for the
conservation law; both derived here.
"""

import attrs

from analysis.closed_forms.delays.symbols import check_load, check_positive


@attrs.frozen(kw_only=True)
class TwoPriorities:
    """Mean waiting of two classes, the first before the second.

    Attributes:
        arrival_rates_per_s: lambda_1 and lambda_2.
        mean_services_s: E[B_1] and E[B_2].
        mean_square_services_s2: E[B_1^2] and E[B_2^2].

    Raises:
        ValueError: A value that is not above zero, or rho >= 1.
    """

    arrival_rates_per_s: tuple[float, float]
    mean_services_s: tuple[float, float]
    mean_square_services_s2: tuple[float, float]

    def __attrs_post_init__(self) -> None:
        check_positive("TwoPriorities", **attrs.asdict(self))
        check_load("TwoPriorities", sum(self.loads))

    @property
    def loads(self) -> tuple[float, float]:
        """rho_1 and rho_2."""
        first, second = (
            rate * mean_s for rate, mean_s in zip(self.arrival_rates_per_s, self.mean_services_s, strict=True)
        )
        return first, second

    @property
    def mean_rest_s(self) -> float:
        """W_0."""
        return 0.5 * sum(
            rate * square_s2
            for rate, square_s2 in zip(self.arrival_rates_per_s, self.mean_square_services_s2, strict=True)
        )

    @property
    def mean_waiting_s(self) -> tuple[float, float]:
        """E[W_1] and E[W_2]."""
        own = 1.0 - self.loads[0]
        return self.mean_rest_s / own, self.mean_rest_s / (own * (1.0 - sum(self.loads)))

    @property
    def conserved_s(self) -> float:
        """`rho W_0 / (1 - rho)`, the sum of the classes' waiting by their loads in any order."""
        load = sum(self.loads)
        return load * self.mean_rest_s / (1.0 - load)
