"""Training time: the port of how long a job trains, where a plan would have it take cycles over frequency.

A law draws a number for every job of every client, independent of the others, and says how long the job lasts
by it. No plan knows the draws.

Usage: `law.duration_s(planned_s, law.draw(rng, 1)[0])`.
"""

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import Port, between, configuration, field, positive, refuse, stand_for


@configuration
class TrainingTime(Port, ABC):
    """How long a job trains."""

    shortcuts = stand_for(is_as_planned=("draw", "duration_s"))

    @property
    def is_as_planned(self) -> bool:
        """Whether it is what was planned, so that nothing is asked or drawn."""
        return False

    @abstractmethod
    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Numbers for jobs of so many clients of consecutive numbers, shape (num,)."""

    def duration_s(self, planned_s: float, drawn: float) -> float:
        """How long a job trains; unless a law knows better, the number drawn is real over planned time.

        Args:
            planned_s: Cycles over frequency.
            drawn: The number of this job.
        """
        return planned_s * drawn


@configuration
class AsPlanned(TrainingTime):
    """Cycles over frequency."""

    @property
    def is_as_planned(self) -> bool:
        """It is."""
        return True

    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Ones."""
        return np.ones(num)


@configuration
class LogNormalTime(TrainingTime):
    """The planned time multiplied by exp(spread Z) with a standard normal Z; the median is what was planned.

    The mean is exp(spread^2 / 2) times as long.

    Attributes:
        spread: Standard deviation of the logarithm. [no source]
    """

    spread: float = field(positive, between(0.0, 10.0), default=0.2)

    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Log-normal numbers of median 1."""
        return np.exp(self.spread * rng.standard_normal(num))


@configuration
class ExponentialTime(TrainingTime):
    """Exponential; the mean is what was planned."""

    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Exponential numbers of mean 1."""
        return rng.standard_exponential(num)


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

    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Numbers of mean 1, the mean of each drawn first."""
        idle = 1.0 / (1.0 + self.busy_probability * (self.busy_factor - 1.0))
        is_busy = rng.random(num) < self.busy_probability
        return idle * np.where(is_busy, self.busy_factor, 1.0) * rng.standard_exponential(num)


@configuration
class HalfNormalTime(TrainingTime):
    """The absolute value of a normal of mean 0; the mean is what was planned.

    That of |N(0, sigma^2)| is sigma sqrt(2 / pi).
    """

    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Half-normal numbers of mean 1."""
        return math.sqrt(math.pi / 2.0) * np.abs(rng.standard_normal(num))
