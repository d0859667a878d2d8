"""Cpu: cycles to seconds to joules.

A client's processor runs at a frequency f up to its own highest one: cycles take cycles / f seconds and
0.5 zeta cycles f^2 joules (RawHFL paper, eqs. 10 and 11).

Scope and limitations: a client runs at its highest frequency unless a protocol asks for another; what a
device takes between its activities is `cosim.devices.rest`'s.
"""

import attrs


@attrs.frozen(kw_only=True)
class Cpu:
    """A processor at a frequency.

    Attributes:
        frequency_hz: The frequency; that of a client's own processor is its highest.
        capacitance_j_per_hz2: Effective capacitance zeta, twice the joules per cycle and squared hertz.
        lowest_frequency_hz: The lowest that a protocol may ask for.
        static_power_w: Power of a busy device beside computing and sending.
    """

    frequency_hz: float
    capacitance_j_per_hz2: float
    lowest_frequency_hz: float = 0.0
    static_power_w: float = 0.0

    def at(self, frequency_hz: float | None) -> "Cpu":
        """The processor at another frequency; None: at this one."""
        return self if frequency_hz is None else attrs.evolve(self, frequency_hz=frequency_hz)

    def duration_s(self, cycles: float) -> float:
        """Time that the cycles take (RawHFL paper, eq. 10)."""
        return cycles / self.frequency_hz

    @property
    def power_w(self) -> float:
        """Power while computing: the energy of eq. 11 of the RawHFL paper, per second, and the static one."""
        return 0.5 * self.capacitance_j_per_hz2 * self.frequency_hz**3 + self.static_power_w
