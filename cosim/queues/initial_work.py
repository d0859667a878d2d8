"""Initial work: the port of a queue's unfinished work at time 0.

An M/G/1 queue of load rho < 1 that has run for ever has unfinished work of the law of Pollaczek and
Khinchine: a geometric number K of equilibrium residual services, P(K = k) = (1 - rho) rho^k. With it a run
needs no warm-up: a packet that comes at time 0, or at any later time chosen beforehand, meets stationary
work. (The first of the public's packets after time 0 meets less, since none has come since then.)

Usage::

    @part
    class Busy(InitialWork):
        \"\"\"The same work for every queue.

        Attributes:
            work_s: Unfinished work. [no source]
        \"\"\"

        work_s: float = knob(positive, default=1.0)

        def draw_work_s(self, load, service, rng):
            return self.work_s

Source: Kleinrock, "Queueing Systems", volume 1, Section 5.7 (expansion after Benes).
"""

from abc import ABC, abstractmethod

import numpy as np
from typing_extensions import override

from cosim.configuration import ConfigurationError, Port, part
from cosim.queues.service import ServiceLaw

CLOSEST_TO_1 = 1e-6
"""Smallest distance of the load from 1: the work is then the sum of a million services on average."""


@part
class InitialWork(Port, ABC):
    """Unfinished work of a queue at time 0."""

    def check(self, owner: str, load: float) -> None:
        """Refuse a load of the public.

        Args:
            owner: Name of the queue's owner, for the message.

        Raises:
            ConfigurationError: It is not possible with this load.
        """

    def check_order(self, owner: str, in_line: bool, is_poisson: bool) -> None:
        """Refuse an order of service, or of arrivals.

        Args:
            in_line: True if one server serves all packets in the order of arrival.
            is_poisson: True if packets come in a Poisson stream.

        Raises:
            ConfigurationError: It is not possible with this order.
        """

    @abstractmethod
    def draw_work_s(self, load: float, service: ServiceLaw, rng: np.random.Generator) -> float:
        """Unfinished work at time 0, in s."""


@part
class StationaryWork(InitialWork):
    """Work of a queue that has run for ever."""

    @override
    def check_order(self, owner: str, in_line: bool, is_poisson: bool) -> None:
        """Refuse an order other than one server, first come first served, and other arrivals than Poisson."""
        if not in_line:
            raise ConfigurationError(
                f"{owner}: its stationary state is more than an amount of work: it must have one "
                "server, first come first served. Use initial_work = NoWork, and a warm-up."
            )
        if not is_poisson:
            raise ConfigurationError(
                f"{owner}: its stationary work is known of Poisson arrivals alone. Use "
                "initial_work = NoWork, and a warm-up."
            )

    @override
    def check(self, owner: str, load: float) -> None:
        """Refuse a load of 1 or more, or too close to it for the work to be drawn."""
        if load > 1.0 - CLOSEST_TO_1:
            raise ConfigurationError(
                f"{owner}: a load of rho = {load:g} has no stationary state to start from: it must be "
                f"below 1 by at least {CLOSEST_TO_1:g}. Use fewer arrivals, faster service, or "
                "initial_work = NoWork."
            )

    @override
    def draw_work_s(self, load: float, service: ServiceLaw, rng: np.random.Generator) -> float:
        """Draw a geometric number of residual services, and return their sum in s."""
        return float(service.draw_residual(rng, int(rng.geometric(1.0 - load)) - 1).sum())


@part
class NoWork(InitialWork):
    """No work."""

    @override
    def draw_work_s(self, load: float, service: ServiceLaw, rng: np.random.Generator) -> float:
        return 0.0
