"""Service laws: the port of the duration of a packet's service.

Every law draws durations, and equilibrium residuals: the rest of a service that is in progress at a random
instant, with density (1 - B(t)) / E[B] where B is the law's distribution function.

Scope and limitations: services are independent of each other and of the queue. A block of hyper-exponential
durations draws all its stages first, so their sequence depends on the sizes of the blocks; a queue draws
blocks of one constant size. The other laws' sequences do not depend on it.

Usage::

    law = HyperExponential(weights=(0.3, 0.7), rates_per_s=(8.0, 2.0))
    law.draw(rng, 1000)

Source: Wan et al., "How global observation works in federated learning" (VHFL), eq. 2; residuals: Kleinrock,
"Queueing Systems", volume 1, Section 5.2.
"""

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.configuration import Port, a_share, at_least, knob, part, positive, refuse
from cosim.files.on_disk import located
from cosim.tables.faults import reads
from cosim.tables.lines import numbers_above_0
from cosim.tables.once import once

Durations = NDArray[np.float64]
"""Durations in s, shape (draws,)."""


@part
class ServiceLaw(Port, ABC):
    """Law of the duration of a packet's service."""

    @property
    @abstractmethod
    def mean_s(self) -> float:
        """Mean duration."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> Durations:
        """Durations in s, shape (count,)."""

    @abstractmethod
    def draw_residual(self, rng: np.random.Generator, count: int) -> Durations:
        """Residuals of services in progress, in s, shape (count,)."""


@part
class HyperExponential(ServiceLaw):
    """Two exponential stages, one of which serves a packet: the idle network's or the busy network's.

    Attributes:
        weights: Probabilities alpha_1 and alpha_2 of the stages. [VHFL, Section V-E: 0.5 each for Fig. 7b]
        rates_per_s: Rates mu_1 and mu_2 of the stages, the faster first. [VHFL, Section V-E]
    """

    weights: tuple[float, float] = knob(a_share, default=(0.5, 0.5))
    rates_per_s: tuple[float, float] = knob(positive, default=(8.0, 2.0))

    def __attrs_post_init__(self) -> None:
        if abs(sum(self.weights) - 1.0) > 1e-9:
            raise refuse("HyperExponential", "weights", self.weights, "must sum to 1", "Give p and 1 - p.")
        if self.rates_per_s[0] < self.rates_per_s[1]:
            rule = "the faster rate comes first (mu_1 >= mu_2)"
            raise refuse(
                "HyperExponential", "rates_per_s", self.rates_per_s, rule, "Swap them, and the weights too."
            )

    @property
    @override
    def mean_s(self) -> float:
        fast_s, slow_s = self._mean_parts_s
        return fast_s + slow_s

    @property
    def _mean_parts_s(self) -> tuple[float, float]:
        return self.weights[0] / self.rates_per_s[0], (1.0 - self.weights[0]) / self.rates_per_s[1]

    @override
    def draw(self, rng: np.random.Generator, count: int) -> Durations:
        return self._mixture(rng, count, self.weights[0])

    @override
    def draw_residual(self, rng: np.random.Generator, count: int) -> Durations:
        """Residuals in s, shape (count,): the stages weighted by the time spent in them."""
        return self._mixture(rng, count, self._mean_parts_s[0] / self.mean_s)

    def _mixture(self, rng: np.random.Generator, count: int, fast_share: float) -> Durations:
        """Fast or slow by a comparison without branches: slow_s is the larger of the two means."""
        fast_s, slow_s = (1.0 / rate_per_s for rate_per_s in self.rates_per_s)
        durations_s = (rng.random(count) >= fast_share) * slow_s
        np.maximum(durations_s, fast_s, out=durations_s)
        return np.multiply(durations_s, rng.standard_exponential(count), out=durations_s)


@part
class Exponential(ServiceLaw):
    """Exponential durations.

    Attributes:
        rate_per_s: Services per second of a busy server. [no source: the default HyperExponential's]
    """

    rate_per_s: float = knob(positive, default=3.2)

    @property
    @override
    def mean_s(self) -> float:
        return 1.0 / self.rate_per_s

    @override
    def draw(self, rng: np.random.Generator, count: int) -> Durations:
        durations_s = rng.standard_exponential(count)
        return np.multiply(durations_s, self.mean_s, out=durations_s)

    @override
    def draw_residual(self, rng: np.random.Generator, count: int) -> Durations:
        """Residuals in s, shape (count,): the law has no memory."""
        return self.draw(rng, count)


@part
class Deterministic(ServiceLaw):
    """Equal durations of all services.

    Attributes:
        duration_s: Duration. [no source: the mean of the default HyperExponential]
    """

    duration_s: float = knob(positive, default=0.3125)

    @property
    @override
    def mean_s(self) -> float:
        return self.duration_s

    @override
    def draw(self, rng: np.random.Generator, count: int) -> Durations:
        """Durations in s, shape (count,); draws nothing."""
        return np.full(count, self.duration_s)

    @override
    def draw_residual(self, rng: np.random.Generator, count: int) -> Durations:
        """Residuals in s, shape (count,): uniform."""
        return self.duration_s * rng.random(count)


@part
class Erlang(ServiceLaw):
    """Several exponential stages, one after the other.

    Attributes:
        num_stages: Stages. [no source]
        rate_per_s: Rate of one stage. [no source: the mean of the default HyperExponential]
    """

    num_stages: int = knob(at_least(1), default=2)
    rate_per_s: float = knob(positive, default=6.4)

    @property
    @override
    def mean_s(self) -> float:
        return self.num_stages / self.rate_per_s

    @override
    def draw(self, rng: np.random.Generator, count: int) -> Durations:
        return rng.standard_gamma(self.num_stages, count) / self.rate_per_s

    @override
    def draw_residual(self, rng: np.random.Generator, count: int) -> Durations:
        """Residuals in s, shape (count,): every stage is equally likely to be in progress."""
        num_left = rng.integers(1, self.num_stages, count, endpoint=True)
        return rng.standard_gamma(num_left) / self.rate_per_s


@part
class Empirical(ServiceLaw):
    """Measured durations, drawn independently and each with equal probability.

    The file is read when the configuration is made, and again when it has changed.

    Attributes:
        path: Text file with one duration in seconds in each line. [no source]
    """

    path: str

    def __attrs_post_init__(self) -> None:
        _ = self.durations_s

    @override
    def files(self) -> tuple[str, ...]:
        return (self.path,)

    @property
    @reads("path")
    def durations_s(self) -> Durations:
        """The durations of the file, read-only, shape (rows,)."""
        return once(_seconds, located(self.path))

    @property
    @override
    def mean_s(self) -> float:
        return float(self.durations_s.mean())

    @override
    def draw(self, rng: np.random.Generator, count: int) -> Durations:
        return self.durations_s[rng.integers(len(self.durations_s), size=count)]

    @override
    def draw_residual(self, rng: np.random.Generator, count: int) -> Durations:
        """Residuals in s, shape (count,): a uniform part of a duration drawn in proportion to its length."""
        met_s = rng.choice(self.durations_s, size=count, p=self.durations_s / self.durations_s.sum())
        return met_s * rng.random(count)


def _seconds(path: Path) -> Durations:
    return numbers_above_0(path, "seconds")
