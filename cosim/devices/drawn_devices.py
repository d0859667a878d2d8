"""Drawn devices: processors and transmitters from ranges.

Scope and limitations: the highest frequency of a client is drawn once and stays.
"""

from collections.abc import Sequence

from cosim.configuration import ConfigurationError, configuration, field, not_negative, positive, refuse
from cosim.configuration.values import PerGroup, Values, each, in_range
from cosim.devices.cpu import Cpu
from cosim.devices.devices import Device, Devices
from cosim.devices.training_time import AsPlanned, TrainingTime
from cosim.devices.transmit_power import SamePower, TransmitPower
from cosim.names import client_name
from cosim.simulation import Simulation, uniforms


@configuration
class DrawnDevices(Devices):
    """Processors and transmitters from ranges.

    Attributes:
        min_frequency_hz: Lowest frequency of the range from which a client's is drawn. [HIST journal, Section
            VI-C]
        max_frequency_hz: Highest frequency of that range. [HIST journal, Section VI-C]
        capacitance_j_per_hz2: Effective capacitance zeta, joules per cycle and squared hertz. [RawHFL paper,
            Section V]
        lowest_frequency_hz: Lowest frequency that a protocol may ask of a device; 0: any. [no source]
        static_power_w: Power that a device draws while it receives, trains or sends, beside computing and
            sending. [no source]
        tx_power: Highest power of a client while it sends.
        training_time: How long a job trains.
    """

    min_frequency_hz: Values = field(each(positive), default=PerGroup(values=(1e9, 2e9)))
    max_frequency_hz: Values = field(each(positive), default=PerGroup(values=(2e9, 4e9)))
    capacitance_j_per_hz2: float = field(not_negative, default=2e-28)
    lowest_frequency_hz: float = field(not_negative, default=0.0)
    static_power_w: float = field(not_negative, default=0.0)
    tx_power: TransmitPower = SamePower()
    training_time: TrainingTime = AsPlanned()

    def __attrs_post_init__(self) -> None:
        slowest_hz = min(self.min_frequency_hz.numbers)
        if self.lowest_frequency_hz > slowest_hz:
            rule = f"above min_frequency_hz = {slowest_hz:g}, the highest of some clients"
            raise refuse("DrawnDevices", "lowest_frequency_hz", self.lowest_frequency_hz, rule, 0.0)

    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> list[Device]:
        """Draws for each client."""
        lowest_hz, highest_hz = (
            [number for cell in values.of_clients(cell_sizes) for number in cell]
            for values in (self.min_frequency_hz, self.max_frequency_hz)
        )
        return [
            Device(
                cpu=self.cpu(*range_hz, sim.of_client(client_name(number), "frequency", uniforms)),
                tx_power_w=float(
                    sim.of_client(client_name(number), "transmit power", self.tx_power.highest_w)
                ),
                training_time=self.training_time,
            )
            for number, range_hz in enumerate(zip(lowest_hz, highest_hz, strict=True))
        ]

    def cpu(self, min_frequency_hz: float, max_frequency_hz: float, share: float) -> Cpu:
        """A processor whose highest frequency lies so far from the one to the other, 0 to 1.

        Raises:
            ConfigurationError: The range is swapped.
        """
        if min_frequency_hz > max_frequency_hz:
            raise ConfigurationError(
                f"DrawnDevices.min_frequency_hz = {min_frequency_hz:g} lies above max_frequency_hz = "
                f"{max_frequency_hz:g}. Usual fix: swap them."
            )
        return Cpu(
            frequency_hz=in_range((min_frequency_hz, max_frequency_hz), float(share)),
            capacitance_j_per_hz2=self.capacitance_j_per_hz2,
            lowest_frequency_hz=self.lowest_frequency_hz,
            static_power_w=self.static_power_w,
        )
