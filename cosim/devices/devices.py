"""Devices: the port of what the clients are.

Usage::

    devices = DrawnDevices().of_clients(sim, cell_sizes=(3, 3))
    devices[0].cpu.frequency_hz
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import attrs

from cosim.configuration import Port, configuration, refuse
from cosim.devices.cpu import Cpu
from cosim.devices.training_time import AsPlanned, TrainingTime
from cosim.simulation import Simulation


@attrs.frozen(kw_only=True)
class Device:
    """A client's device.

    Attributes:
        cpu: Its processor at the highest frequency.
        tx_power_w: Its highest transmit power.
        training_time: How long its jobs train.
    """

    cpu: Cpu
    tx_power_w: float
    training_time: TrainingTime = attrs.field(factory=AsPlanned)

    def __attrs_post_init__(self) -> None:
        for name, value in (("cpu.frequency_hz", self.cpu.frequency_hz), ("tx_power_w", self.tx_power_w)):
            if not 0.0 < value < math.inf:
                rule = "must be a finite number above 0"
                raise refuse("Device", name, value, rule, "check the table of devices")


@configuration
class Devices(Port, ABC):
    """What the clients are."""

    @abstractmethod
    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> Sequence[Device]:
        """The device of every client, in the order of their numbers; asked once for a simulation.

        Args:
            cell_sizes: Clients of each cell, which are numbered cell by cell.
        """
