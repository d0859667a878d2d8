"""Compute: cycles to seconds to joules.

A client's processor runs at a frequency f up to its own highest one: cycles take cycles / f seconds and
0.5 zeta cycles f^2 joules (RawHFL paper, eqs. 10 and 11).

The cycles of a local step on the whole model are fixed (HIST journal, Section VI-C) or counted by the bits of
its mini-batch (RawHFL paper, eq. 10), both whatever the network; a step on a part costs the share that its
size is of the whole (HIST journal, Section IV-A). Or they are counted by the floating-point operations of
the training, of this network or part of it, and of every sample of the mini-batch
(`cosim.learning.network.flops`).

Scope and limitations: the highest frequency of a client is drawn once and stays, and it runs at that one
unless a protocol asks for another; idle processors take no power. A mini-batch counts as full, also where a
client has fewer samples left. Operations all cost the same, and memory costs nothing.
"""

from typing import Literal

import attrs
import numpy as np

from cosim.configuration import (
    ConfigurationError,
    at_least,
    between,
    configuration,
    field,
    not_negative,
    one_or_range,
    positive,
    refuse,
)
from cosim.configuration.values import PerGroup, Values, each
from cosim.devices.transmit_power import SamePower, TransmitPower
from cosim.topology.topology import uniform

CyclesFollow = Literal["parameters", "flops"]


@configuration
class Compute:
    """The processors of the clients, and the power of their transmitters.

    Attributes:
        step_cycles: Cycles of one local step on one mini-batch, for the whole model, whatever the network
            (parameters). [HIST journal, Section VI-C]
        cycles_follow: Parameters: a step takes step_cycles or cycles_per_bit on the whole model, and on a
            submodel its share of the trained parameters; flops: it takes cycles_per_flop for each
            floating-point operation of training this network, or submodel, on the mini-batch. [HIST journal,
            Section IV-A: its size]
        cycles_per_flop: Cycles for each floating-point operation (flops). [no source: eight operations a
            cycle]
        cycles_per_bit: Cycles for each bit of the mini-batch, in place of step_cycles: one value, or lowest
            and highest of a uniform range; none: step_cycles. [RawHFL, Section V-A: 25 to 40]
        sample_bits: Size of a sample, where cycles are counted per bit. [no source]
        min_frequency_hz: Lowest frequency of the range from which a client's is drawn. [HIST journal, Section
            VI-C]
        max_frequency_hz: Highest frequency of that range. [HIST journal, Section VI-C]
        capacitance_j_per_hz2: Effective capacitance zeta, joules per cycle and squared hertz. [RawHFL paper,
            Section V]
        lowest_frequency_hz: Lowest frequency that a protocol may ask of a device; 0: any. [no source]
        static_power_w: Power that a device draws while it trains or sends, beside computing and sending. [no
            source]
        time_jitter: Spread of training times: each is multiplied by exp(time_jitter Z) with a standard normal
            Z, which no plan knows. [no source]
        tx_power: Highest power of a client while it sends.
    """

    step_cycles: float = field(positive, default=1e6)
    cycles_follow: CyclesFollow = "parameters"
    cycles_per_flop: float = field(positive, default=0.125)
    cycles_per_bit: tuple[float, ...] | None = field(one_or_range, positive, default=None)
    sample_bits: int = field(at_least(1), default=1408)
    min_frequency_hz: Values = field(each(positive), default=PerGroup(values=(1e9, 2e9)))
    max_frequency_hz: Values = field(each(positive), default=PerGroup(values=(2e9, 4e9)))
    capacitance_j_per_hz2: float = field(not_negative, default=2e-28)
    lowest_frequency_hz: float = field(not_negative, default=0.0)
    static_power_w: float = field(not_negative, default=0.0)
    time_jitter: float = field(between(0.0, 10.0), default=0.0)
    tx_power: TransmitPower = SamePower()

    def __attrs_post_init__(self) -> None:
        slowest_hz = min(self.min_frequency_hz.numbers)
        if self.lowest_frequency_hz > slowest_hz:
            rule = f"above min_frequency_hz = {slowest_hz:g}, the highest of some clients"
            raise refuse("Compute", "lowest_frequency_hz", self.lowest_frequency_hz, rule, 0.0)
        if self.cycles_follow == "flops" and self.cycles_per_bit is not None:
            rule = "cycles_follow = flops counts operations, not bits"
            fix = "none, or cycles_follow = parameters"
            raise refuse("Compute", "cycles_per_bit", self.cycles_per_bit, rule, fix)

    @property
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        if self.cycles_follow == "flops":
            return (
                f"A local step takes {self.cycles_per_flop:g} cycles for each floating-point operation of "
                "training this network, or the part of it that a client trains, on the mini-batch "
                "(compute.cycles_per_flop)."
            )
        if self.cycles_per_bit is None:
            cycles, name = f"{self.step_cycles:g} cycles", "step_cycles"
        else:
            per_bit = " to ".join(f"{cycles:g}" for cycles in self.cycles_per_bit)
            cycles, name = f"{per_bit} cycles for each bit of the mini-batch", "cycles_per_bit"
        return (
            f"A local step takes {cycles}, whatever the network (compute.{name}); on a submodel it takes the "
            "submodel's share of the trained parameters."
        )

    def cpu(
        self,
        min_frequency_hz: float,
        max_frequency_hz: float,
        rng: np.random.Generator,
        sample_flops: int = 0,
    ) -> "Cpu":
        """One client's processor, its highest frequency uniform in the range.

        Args:
            sample_flops: Operations of training the whole network on one sample, where cycles follow them.

        Raises:
            ConfigurationError: The range is swapped, or cycles follow operations and there are none.
        """
        if self.cycles_follow == "flops" and not sample_flops:
            raise ConfigurationError(
                "Compute.cycles_follow = 'flops': System.model has no matrix products or convolutions, so "
                "its training would take no time. Usual fix: cycles_follow = 'parameters'."
            )
        if min_frequency_hz > max_frequency_hz:
            raise ConfigurationError(
                f"Compute.min_frequency_hz = {min_frequency_hz:g} lies above max_frequency_hz = "
                f"{max_frequency_hz:g}. Usual fix: swap them."
            )
        frequency_hz = min_frequency_hz + (max_frequency_hz - min_frequency_hz) * rng.random()
        step_cycles = sample_cycles = 0.0
        if self.cycles_follow == "flops":
            sample_cycles = self.cycles_per_flop * sample_flops
        elif self.cycles_per_bit is not None:
            sample_cycles = uniform(self.cycles_per_bit, rng) * self.sample_bits
        else:
            step_cycles = self.step_cycles
        return Cpu(
            frequency_hz=frequency_hz,
            capacitance_j_per_hz2=self.capacitance_j_per_hz2,
            lowest_frequency_hz=self.lowest_frequency_hz,
            static_power_w=self.static_power_w,
            step_cycles=step_cycles,
            sample_cycles=sample_cycles,
            time_jitter=self.time_jitter,
        )


@attrs.frozen(kw_only=True)
class Cpu:
    """A processor at a frequency.

    Attributes:
        frequency_hz: The frequency; that of a client's own processor is its highest.
        lowest_frequency_hz: The lowest that a protocol may ask for.
        static_power_w: Power of a busy device beside computing and sending.
        step_cycles: Cycles of a local step on the whole model, whatever the mini-batch.
        sample_cycles: Cycles of a local step on the whole model for each sample of its mini-batch.
        time_jitter: Spread of training times.
    """

    frequency_hz: float
    capacitance_j_per_hz2: float
    lowest_frequency_hz: float = 0.0
    static_power_w: float = 0.0
    step_cycles: float = 0.0
    sample_cycles: float = 0.0
    time_jitter: float = 0.0

    def at(self, frequency_hz: float | None) -> "Cpu":
        """The processor at another frequency; None: at this one."""
        return self if frequency_hz is None else attrs.evolve(self, frequency_hz=frequency_hz)

    def cycles(self, batch_size: int) -> float:
        """Cycles of one local step on the whole model; on what a client trains: `Cloud.step_cycles`."""
        return self.step_cycles + self.sample_cycles * batch_size

    def duration_s(self, cycles: float) -> float:
        """Time that the cycles take (RawHFL paper, eq. 10)."""
        return cycles / self.frequency_hz

    @property
    def power_w(self) -> float:
        """Power while computing: the energy of eq. 11 of the RawHFL paper, per second, and the static one."""
        return 0.5 * self.capacitance_j_per_hz2 * self.frequency_hz**3 + self.static_power_w
