"""Training time: the port of how long a job trains, where a plan would have it take cycles over frequency.

Each law is asked once for every job and draws independently of the others. No plan knows the draws.

Usage: `LogNormalTime(spread=0.2).duration_s(planned_s, rng)`.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from cosim.configuration import Port, between, configuration, field, positive, refuse


@configuration
class TrainingTime(Port, ABC):
    """How long a job trains."""

    @property
    def is_as_planned(self) -> bool:
        """Whether it is what was planned, so that nothing is asked or drawn."""
        return False

    @abstractmethod
    def duration_s(self, planned_s: float, rng: np.random.Generator) -> float:
        """How long it trains.

        Args:
            planned_s: Cycles over frequency.
            rng: Draws of this job's own.
        """


@configuration
class AsPlanned(TrainingTime):
    """Cycles over frequency."""

    @property
    def is_as_planned(self) -> bool:
        """It is, unless a subclass has a duration of its own."""
        return type(self).duration_s is AsPlanned.duration_s

    def duration_s(self, planned_s: float, rng: np.random.Generator) -> float:
        """What was planned."""
        return planned_s


@configuration
class LogNormalTime(TrainingTime):
    """The planned time multiplied by exp(spread Z) with a standard normal Z; the median is what was planned.

    The mean is exp(spread^2 / 2) times as long.

    Attributes:
        spread: Standard deviation of the logarithm. [no source]
    """

    spread: float = field(positive, between(0.0, 10.0), default=0.2)

    def duration_s(self, planned_s: float, rng: np.random.Generator) -> float:
        """The planned time, shaken."""
        return planned_s * math.exp(self.spread * rng.standard_normal())


@configuration
class ExponentialTime(TrainingTime):
    """Exponential; the mean is what was planned."""

    def duration_s(self, planned_s: float, rng: np.random.Generator) -> float:
        """A draw of that mean."""
        return planned_s * rng.standard_exponential()


@configuration
class HyperExponentialTime(TrainingTime):
    """Exponential, now and then of a longer mean, as on a device that is busy; the mean is what was planned.

    Attributes:
        busy_probability: How often the device is busy. [no source]
        busy_factor: Mean time on a busy device, in mean times on an idle one. [no source]
    """

    busy_probability: float = field(positive, between(0.0, 1.0), default=0.5)
    busy_factor: float = field(positive, default=4.0)

    def __attrs_post_init__(self) -> None:
        if self.busy_probability == 1.0 or self.busy_factor == 1.0:
            name = "busy_factor" if self.busy_factor == 1.0 else "busy_probability"
            rule = "the law is exponential then"
            raise refuse("HyperExponentialTime", name, 1.0, rule, "ExponentialTime")

    def duration_s(self, planned_s: float, rng: np.random.Generator) -> float:
        """A draw of a mean that is drawn first."""
        idle_s = planned_s / (1.0 + self.busy_probability * (self.busy_factor - 1.0))
        is_busy = rng.random() < self.busy_probability
        return idle_s * (self.busy_factor if is_busy else 1.0) * rng.standard_exponential()


@configuration
class HalfNormalTime(TrainingTime):
    """The absolute value of a normal of mean 0; the mean is what was planned.

    That of |N(0, sigma^2)| is sigma sqrt(2 / pi).
    """

    def duration_s(self, planned_s: float, rng: np.random.Generator) -> float:
        """A draw of that mean."""
        return planned_s * math.sqrt(math.pi / 2.0) * abs(rng.standard_normal())
