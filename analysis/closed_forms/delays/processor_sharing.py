"""Sojourn of Poisson arrivals that share one server evenly, M/G/1 processor sharing.

An upload that would take a time x alone takes, in equilibrium and on average,

    E[T(x)] = x / (1 - rho),    E[T] = E[X] / (1 - rho),    rho = lambda E[X]

whatever the law of X beyond its mean. With X of phases, the numbers in each phase have the product form P(n)
= (1 - rho) n! prod_i rho_i^(n_i) / n_i! with n the sum of n_i, since it solves the balance of each phase by
itself. So there are rho_i / (1 - rho) in a phase on average. The phases of sizes near x have rho_i = lambda_x
x in all, where lambda_x is their rate, and Little's law gives x / (1 - rho). First come first served hangs on
E[X^2] instead.

Conditions: Poisson arrivals, sizes independent of them, the whole rate shared evenly by all senders, none
leaves early, rho < 1, equilibrium.

Source: Kleinrock, "Queueing Systems", volume 2, chapter 4; the product form is checked in the tests.
"""

import attrs

from analysis.closed_forms.delays.symbols import check_load, check_positive


@attrs.frozen(kw_only=True)
class ProcessorSharing:
    """Mean sojourn where all share.

    Attributes:
        arrival_rate_per_s: lambda.
        mean_alone_s: E[X], what an upload takes with the whole band.

    Raises:
        ValueError: A value that is not above zero, or rho >= 1.
    """

    arrival_rate_per_s: float
    mean_alone_s: float

    def __attrs_post_init__(self) -> None:
        check_positive("ProcessorSharing", **attrs.asdict(self))
        check_load("ProcessorSharing", self.load)

    @property
    def load(self) -> float:
        """rho, the share of time in which at least one client sends."""
        return self.arrival_rate_per_s * self.mean_alone_s

    @property
    def mean_sojourn_s(self) -> float:
        """E[T]."""
        return self.sojourn_s(self.mean_alone_s)

    def sojourn_s(self, alone_s: float) -> float:
        """E[T(x)] of an upload that takes x alone."""
        return alone_s / (1.0 - self.load)
