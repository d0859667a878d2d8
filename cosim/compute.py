"""Compute: cycles to seconds to joules.

A client's processor runs at one frequency f: cycles take cycles / f seconds and
0.5 zeta cycles f^2 joules (RawHFL paper, eqs. 10 and 11). The cycles of a local step are proportional to the
size of the model that the client trains (HIST journal, Section IV-A).

Scope and limitations: the frequency of a client is drawn once and stays; idle processors take no power.
"""

import attrs
import numpy as np

from cosim.configuration import ConfigurationError, configuration, field, not_empty, not_negative, positive


@configuration
class Compute:
    """The processors of the clients.

    Each range is one value for all cells, one for each of several equal groups of cells (two values: slow
    cells first, fast cells second), or one for every client.

    Attributes:
        step_cycles: Cycles of one local step on one mini-batch, for the whole model. [HIST journal, Section
            VI-C]
        min_frequency_hz: Lowest frequency of the range from which a client's is drawn. [HIST journal, Section
            VI-C]
        max_frequency_hz: Highest frequency of that range. [HIST journal, Section VI-C]
        capacitance_j_per_hz2: Effective capacitance zeta, joules per cycle and squared hertz. [RawHFL paper,
            Section V]
    """

    step_cycles: float = field(positive, default=1e6)
    min_frequency_hz: tuple[float, ...] = field(not_empty, positive, default=(1e9, 2e9))
    max_frequency_hz: tuple[float, ...] = field(not_empty, positive, default=(2e9, 4e9))
    capacitance_j_per_hz2: float = field(not_negative, default=2e-28)

    def cpu(self, min_frequency_hz: float, max_frequency_hz: float, rng: np.random.Generator) -> "Cpu":
        """One client's processor, its frequency uniform in the range."""
        if min_frequency_hz > max_frequency_hz:
            raise ConfigurationError(
                f"Compute.min_frequency_hz = {min_frequency_hz:g} lies above max_frequency_hz = "
                f"{max_frequency_hz:g}. Usual fix: swap them."
            )
        frequency_hz = min_frequency_hz + (max_frequency_hz - min_frequency_hz) * rng.random()
        return Cpu(frequency_hz=frequency_hz, capacitance_j_per_hz2=self.capacitance_j_per_hz2)


@attrs.frozen(kw_only=True)
class Cpu:
    """A processor at a fixed frequency."""

    frequency_hz: float
    capacitance_j_per_hz2: float

    def duration_s(self, cycles: float) -> float:
        """Time that the cycles take (RawHFL paper, eq. 10)."""
        return cycles / self.frequency_hz

    @property
    def power_w(self) -> float:
        """Power while computing: the energy of eq. 11 of the RawHFL paper, per second."""
        return 0.5 * self.capacitance_j_per_hz2 * self.frequency_hz**3
