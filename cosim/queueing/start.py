"""Start of a queue: the work that its server has before it at time 0.

An M/G/1 queue of load rho < 1 that has run for ever has unfinished work of the law of Pollaczek and
Khinchine: a geometric number K of equilibrium residual services, P(K = k) = (1 - rho) rho^k. With it a run
needs no warm-up: who comes at time 0, or at any later time chosen beforehand, meets stationary work. (The
first of the public's packets after time 0 meets less, since nobody has come since then.)

Source: Kleinrock, "Queueing Systems", volume 1, Section 5.7 (expansion after Benes).
"""

from typing import Literal

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.queueing.service import ServiceLaw

Start = Literal["stationary", "empty"]

CLOSEST_TO_1 = 1e-6
"""At a load of 1 less this the work is the sum of a million services on average."""


def check_start(owner: str, start: Start, load: float) -> None:
    """Refuse a stationary start where no stationary state exists.

    Raises:
        ConfigurationError: The load is 1 or more, or too close to it for the work to be drawn.
    """
    if start == "stationary" and load > 1.0 - CLOSEST_TO_1:
        raise ConfigurationError(
            f"{owner}: a load of rho = {load:g} has no stationary state to start from: must be below 1, by "
            f'{CLOSEST_TO_1:g} at least. Usual fix: fewer arrivals, faster service, or start = "empty".'
        )


def draw_work_s(start: Start, load: float, service: ServiceLaw, rng: np.random.Generator) -> float:
    """Unfinished work at time 0, in s."""
    if start == "empty":
        return 0.0
    return float(service.draw_residual(rng, int(rng.geometric(1.0 - load)) - 1).sum())
