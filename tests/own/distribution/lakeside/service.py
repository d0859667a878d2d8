"""Gamma: a service law."""

import cosim
from cosim.configuration import knob, part, positive


@part
class Gamma(cosim.queues.ServiceLaw):
    """Gamma durations.

    Attributes:
        shape: Squared mean over variance. [no source]
        duration_s: Mean duration. [no source]
    """

    shape: float = knob(positive, default=2.5)
    duration_s: float = knob(positive, default=0.02)

    @property
    def mean_s(self):
        """Mean duration."""
        return self.duration_s

    def draw(self, rng, count):
        """Durations in s, shape (count,)."""
        return rng.gamma(self.shape, self.duration_s / self.shape, count)

    def draw_residual(self, rng, count):
        """A uniform part of a duration that is met by its length."""
        return rng.random(count) * rng.gamma(self.shape + 1.0, self.duration_s / self.shape, count)
