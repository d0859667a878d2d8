"""Training time: the port of a training's actual duration; by default the planned one.

Usage::

    @part
    class Interrupted(TrainingTime):
        \"\"\"An interruption of every job.\"\"\"

        def training_s(self, sim, clients, job, planned_s):
            return planned_s + 0.01 * sim.of_client(clients, "interrupted", uniforms, job.number)

Scope and limitations: plans do not know the draws.
"""

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import Port, a_share, between, knob, part, positive, refuse
from cosim.jobs.job import Job


@part
class TrainingTime(Port, ABC):
    """Actual duration of a training."""

    @abstractmethod
    def training_s(
        self, sim: Simulation, clients: Numbers, job: Job, planned_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Duration of some clients' trainings in a job, shape (clients,); a client's depends on no other.

        Args:
            clients: Some of the run's, ascending; asked by events for one.
            planned_s: Cycles over frequency of each, shape (clients,).
        """


@part
class DrawnTime(TrainingTime, ABC):
    """Planned time, multiplied by a number drawn for each job of each client, all independent."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Ratios of actual to planned time of `num` clients of consecutive numbers, shape (num,)."""

    @override
    def training_s(
        self, sim: Simulation, clients: Numbers, job: Job, planned_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return planned_s * sim.of_client(clients, "training time", self.draw, job.number)


@part
class LogNormalTime(DrawnTime):
    """Planned time multiplied by exp(spread Z) with a standard normal Z; the median is the planned time.

    The mean is exp(spread^2 / 2) times the planned time.

    Attributes:
        spread: Standard deviation of the logarithm. [no source]
    """

    spread: float = knob(positive, between(0.0, 10.0), default=0.2)

    @override
    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        return np.exp(self.spread * rng.standard_normal(num))


@part
class ExponentialTime(DrawnTime):
    """Exponential time with the planned time as its mean."""

    @override
    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        return rng.standard_exponential(num)


@part
class HyperExponentialTime(DrawnTime):
    """Exponential time, sometimes of a longer mean, as on a busy device; the mean is the planned time.

    Attributes:
        busy_probability: Probability that the device is busy. [no source]
        busy_factor: Mean time on a busy device, in mean times on an idle one. [no source]
    """

    busy_probability: float = knob(positive, a_share, default=0.5)
    busy_factor: float = knob(positive, default=4.0)

    def __attrs_post_init__(self) -> None:
        if self.busy_probability == 1.0 or self.busy_factor == 1.0:
            name = "busy_factor" if self.busy_factor == 1.0 else "busy_probability"
            rule = "with this value the law is exponential"
            raise refuse("HyperExponentialTime", name, 1.0, rule, "Use ExponentialTime.")

    @override
    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        """Numbers of mean 1; the mean of each is drawn first."""
        idle = 1.0 / (1.0 + self.busy_probability * (self.busy_factor - 1.0))
        is_busy = rng.random(num) < self.busy_probability
        return idle * np.where(is_busy, self.busy_factor, 1.0) * rng.standard_exponential(num)


@part
class HalfNormalTime(DrawnTime):
    """The absolute value of a normal time of mean 0, with the planned time as its mean.

    The mean of |N(0, sigma^2)| is sigma sqrt(2 / pi).
    """

    @override
    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
        return math.sqrt(math.pi / 2.0) * np.abs(rng.standard_normal(num))
