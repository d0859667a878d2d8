"""Devices: the port of what the clients are.

Usage::

    devices = DrawnDevices().of_clients(sim, cell_sizes=(3, 3))
    devices[0].cpu.frequency_hz
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, overload

import attrs
import numpy as np
from numpy.typing import NDArray

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
        receive_w: Power while it receives, beside the static one.
    """

    cpu: Cpu
    tx_power_w: float
    training_time: TrainingTime = attrs.field(factory=AsPlanned)
    receive_w: float = 0.0

    def __attrs_post_init__(self) -> None:
        for name, value in (("cpu.frequency_hz", self.cpu.frequency_hz), ("tx_power_w", self.tx_power_w)):
            if not 0.0 < value < math.inf:
                rule = "must be a finite number above 0"
                raise refuse("Device", name, value, rule, "check the table of devices")


@attrs.frozen(kw_only=True, eq=False)
class DeviceArrays(Sequence[Device]):
    """Devices as arrays of shape (clients,); one is made when somebody asks for it.

    Attributes:
        frequency_hz: Highest frequencies of the processors.
        capacitance_j_per_hz2: Their effective capacitances.
        lowest_frequency_hz: The lowest that a protocol may ask for.
        static_power_w: Powers of busy devices beside computing and sending.
        tx_power_w: Highest transmit powers.
        training_time: How long jobs train, one law for all, or one for each.
        receive_w: Powers while they receive, beside the static ones.
    """

    frequency_hz: NDArray[np.float64]
    capacitance_j_per_hz2: NDArray[np.float64]
    lowest_frequency_hz: NDArray[np.float64]
    static_power_w: NDArray[np.float64]
    tx_power_w: NDArray[np.float64]
    training_time: TrainingTime | Sequence[TrainingTime]
    receive_w: NDArray[np.float64]

    def __attrs_post_init__(self) -> None:
        wrong = ~((self.frequency_hz > 0.0) & (self.frequency_hz < math.inf))
        wrong |= ~((self.tx_power_w > 0.0) & (self.tx_power_w < math.inf))
        if wrong.any():
            _ = self[int(wrong.argmax())]  # which says what is wrong

    @classmethod
    def of(cls, devices: Sequence[Device]) -> "DeviceArrays":
        """Those of single ones."""
        if isinstance(devices, DeviceArrays):
            return devices
        cpus = [device.cpu for device in devices]
        columns = {name: np.array([getattr(cpu, name) for cpu in cpus], dtype=float) for name in _OF_CPU}
        return cls(
            **columns,
            tx_power_w=np.array([device.tx_power_w for device in devices], dtype=float),
            training_time=[device.training_time for device in devices],
            receive_w=np.array([device.receive_w for device in devices], dtype=float),
        )

    @property
    def train_w(self) -> NDArray[np.float64]:
        """Powers while computing, those of `Cpu.power_w`."""
        cubes = np.array([hz**3 for hz in self.frequency_hz.tolist()])  # numpy's have other last bits
        return 0.5 * self.capacitance_j_per_hz2 * cubes + self.static_power_w

    def __len__(self) -> int:
        return len(self.frequency_hz)

    @overload
    def __getitem__(self, place: int) -> Device: ...
    @overload
    def __getitem__(self, place: slice) -> "DeviceArrays": ...
    def __getitem__(self, place: int | slice) -> "Device | DeviceArrays":
        law: Any = self.training_time
        if not isinstance(law, TrainingTime):
            law = law[place]
        cpu = {name: getattr(self, name)[place] for name in _OF_CPU}
        if isinstance(place, slice):
            return DeviceArrays(
                **cpu, tx_power_w=self.tx_power_w[place], training_time=law, receive_w=self.receive_w[place]
            )
        return Device(
            cpu=Cpu(**{name: float(value) for name, value in cpu.items()}),
            tx_power_w=float(self.tx_power_w[place]),
            training_time=law,
            receive_w=float(self.receive_w[place]),
        )


_OF_CPU = ("frequency_hz", "capacitance_j_per_hz2", "lowest_frequency_hz", "static_power_w")


@configuration
class Devices(Port, ABC):
    """What the clients are."""

    @abstractmethod
    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> Sequence[Device]:
        """The device of every client, in the order of their numbers; asked once for a simulation.

        Many are quickest as `DeviceArrays`.

        Args:
            cell_sizes: Clients of each cell, which are numbered cell by cell.
        """
