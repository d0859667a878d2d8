"""Drawn devices: processors and transmitters from ranges.

Scope and limitations: the highest frequency of a client is drawn once and stays fixed.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.client_values.port import PerGroup, Values, each
from cosim.clock.draws import Numbers, uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, knob, not_negative, part, positive, refuse
from cosim.configuration.port import Picture
from cosim.devices.battery import Battery
from cosim.devices.device import DeviceArrays
from cosim.devices.port import Devices
from cosim.devices.power_control import PowerControl
from cosim.devices.presence import Presence
from cosim.devices.processor import Processor
from cosim.devices.training_time import TrainingTime
from cosim.devices.transmit_power import SamePower, TransmitPower
from cosim.names import ClientNames


@part
class DrawnDevices(Devices):
    """Processors and transmitters from ranges.

    Attributes:
        min_frequency_hz: Lowest frequency of the range from which a client's is drawn. [HIST journal, Section
            VI-C]
        max_frequency_hz: Highest frequency of that range. [HIST journal, Section VI-C]
        capacitance_j_per_hz2: Effective capacitance zeta, twice the joules per cycle and squared hertz.
            [RawHFL paper, Section V]
        lowest_frequency_hz: Lowest frequency that a protocol may ask of a device; 0 means any. [no source]
        static_power_w: Power that a device draws while it receives, trains or sends, beside computing and
            sending. [no source]
        receive_w: Power that a device draws while it receives, beside the static one. [no source]
        tx_power: Highest power of a client while it sends.
        processor: Duration and power of a training; None means by the frequency. [no source]
        power_control: Power at which a client sends; None means its highest. [no source]
        training_time: Actual duration of a training; None means as planned. [no source]
        idle_w: Power of a device between its activities, and while it waits for its turn to send. [no source]
        sleep_w: Power of a device that sleeps. [no source]
        sleeps_after_s: Idle time before a device sleeps, until its next activity; None means that it never
            sleeps. [no source]
        presence: Times when a client is present; None means always. [no source]
        battery: A client's store of energy; None means unlimited. [no source]
        memory_bits: Memory of a device, which must hold everything that training needs; None means unlimited.
            [no source]
    """

    min_frequency_hz: Values = knob(each(positive), default=PerGroup(values=(1e9, 2e9)))
    max_frequency_hz: Values = knob(each(positive), default=PerGroup(values=(2e9, 4e9)))
    capacitance_j_per_hz2: float = knob(not_negative, default=2e-28)
    lowest_frequency_hz: float = knob(not_negative, default=0.0)
    static_power_w: float = knob(not_negative, default=0.0)
    receive_w: float = knob(not_negative, default=0.0)
    tx_power: TransmitPower = SamePower()
    processor: Processor | None = None
    power_control: PowerControl | None = None
    training_time: TrainingTime | None = None
    idle_w: float = knob(not_negative, default=0.0)
    sleep_w: float = knob(not_negative, default=0.0)
    sleeps_after_s: float | None = knob(not_negative, default=None)
    presence: Presence | None = None
    battery: Battery | None = None
    memory_bits: float | None = knob(positive, default=None)

    def __attrs_post_init__(self) -> None:
        if self.sleep_w and self.sleeps_after_s is None:
            rule = "no device sleeps, as sleeps_after_s is None"
            raise refuse("DrawnDevices", "sleep_w", self.sleep_w, rule, "Use sleeps_after_s = 1.0.")
        if self.sleeps_after_s is not None and not self.idle_w and not self.sleep_w:
            rule = "has no effect, as idle_w and sleep_w are both 0"
            raise refuse("DrawnDevices", "sleeps_after_s", self.sleeps_after_s, rule, "Use idle_w = 0.5.")
        slowest_hz = min(self.min_frequency_hz.numbers)
        if self.lowest_frequency_hz > slowest_hz:
            rule = f"is above min_frequency_hz = {slowest_hz:g}, from which some clients draw"
            raise refuse("DrawnDevices", "lowest_frequency_hz", self.lowest_frequency_hz, rule, default=0.0)

    @override
    def pictures(self) -> tuple[Picture, ...]:
        return () if self.battery is None else ("presence",)

    @override
    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> DeviceArrays:
        lowest_hz, highest_hz = (
            np.concatenate(values.of_clients(cell_sizes))
            for values in (self.min_frequency_hz, self.max_frequency_hz)
        )
        numbers = Numbers.of(ClientNames(0, len(lowest_hz)))
        shares = sim.of_client(numbers, "frequency", uniforms)
        return DeviceArrays(
            frequency_hz=frequencies_hz(lowest_hz, highest_hz, shares),
            capacitance_j_per_hz2=self.capacitance_j_per_hz2,
            tx_power_w=self.tx_power.highest_w(sim, numbers),
            lowest_frequency_hz=self.lowest_frequency_hz,
            static_power_w=self.static_power_w,
            receive_w=self.receive_w,
            idle_w=self.idle_w,
            sleep_w=self.sleep_w,
            sleeps_after_s=math.inf if self.sleeps_after_s is None else self.sleeps_after_s,
            memory_bits=math.inf if self.memory_bits is None else self.memory_bits,
            processor=self.processor,
            power_control=self.power_control,
            training_time=self.training_time,
            presence=self.presence,
            battery=self.battery,
        )


def frequencies_hz(
    lowest_hz: NDArray[np.float64], highest_hz: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Highest frequencies, at a share from 0 to 1 of the way from the lowest to the highest of their ranges.

    Raises:
        ConfigurationError: The ends of a range are swapped.
    """
    for low_hz, high_hz in zip(
        lowest_hz[lowest_hz > highest_hz], highest_hz[lowest_hz > highest_hz], strict=True
    ):
        raise ConfigurationError(
            f"DrawnDevices.min_frequency_hz = {low_hz:g} lies above max_frequency_hz = {high_hz:g}. "
            "Swap them.",
            "DrawnDevices.min_frequency_hz",
        )
    return lowest_hz + (highest_hz - lowest_hz) * shares
