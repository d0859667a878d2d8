"""Law clock: seed and length of a law's scenario, and runs of systems."""

import attrs

import cosim

APART = 1_000_003
"""Distance of the seeds of a validation's runs, so that validations with other seeds share none."""


@attrs.frozen(kw_only=True)
class LawClock:
    """The clock of `cosim validate` (`analysis.laws.port.Clock`)."""

    seed: int
    size: float

    def num(self, full: float) -> int:
        """Number of this size."""
        return max(1, int(self.size * full))

    def run(self, system: cosim.System, number: int = 0) -> cosim.Result:
        """Run a system with a seed of its own."""
        return cosim.run(attrs.evolve(system, seed=self.seed + APART * number))
