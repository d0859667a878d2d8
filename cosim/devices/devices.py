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

from cosim.configuration import ConfigurationError, Port, configuration, own_methods, refuse
from cosim.devices.battery import Battery
from cosim.devices.cpu import Cpu
from cosim.devices.presence import Presence
from cosim.devices.training_time import AsPlanned, TrainingTime
from cosim.simulation import Simulation


@attrs.frozen(kw_only=True)
class Device:
    """A client's device.

    Attributes:
        cpu: Its processor at the highest frequency.
        tx_power_w: Its highest transmit power.
        training_time: How long its jobs train.
        idle_w: Power between its activities, and while it waits for its turn.
        sleep_w: Power while it sleeps.
        sleeps_after_s: How long it idles before it sleeps; None: it never does.
        presence: When it is there; None: always.
        battery: What it takes its energy from; None: it has no end.
        memory_bits: What must hold all that training takes (`cosim.beforehand.memory`); None: unlimited.
        receive_w: Power while it receives, beside the static one.
    """

    cpu: Cpu
    tx_power_w: float
    training_time: TrainingTime = attrs.field(factory=AsPlanned)
    idle_w: float = 0.0
    sleep_w: float = 0.0
    sleeps_after_s: float | None = None
    presence: Presence | None = None
    battery: Battery | None = None
    memory_bits: float | None = None
    receive_w: float = 0.0

    def __attrs_post_init__(self) -> None:
        for name, value in (("cpu.frequency_hz", self.cpu.frequency_hz), ("tx_power_w", self.tx_power_w)):
            if not 0.0 < value < math.inf:
                rule = "must be a finite number above 0"
                raise refuse("Device", name, value, rule, "check the table of devices")
        if self.memory_bits is not None and not 0.0 < self.memory_bits < math.inf:
            rule = "must be a finite number above 0, or None"
            raise refuse("Device", "memory_bits", self.memory_bits, rule, "None: unlimited")
        powers = {name: getattr(self, name) for name in ("receive_w", "idle_w", "sleep_w")}
        powers |= {
            f"cpu.{name}": getattr(self.cpu, name) for name in ("capacitance_j_per_hz2", "static_power_w")
        }
        for name, value in powers.items():
            if not 0.0 <= value < math.inf:
                rule = "must be a finite number, 0 or above"
                raise refuse("Device", name, value, rule, "check the table of devices")
        if self.sleeps_after_s is not None and not 0.0 <= self.sleeps_after_s < math.inf:
            rule = "must be a finite number, 0 or above, or None"
            raise refuse("Device", "sleeps_after_s", self.sleeps_after_s, rule, "None: it never sleeps")


_NO_POWER = attrs.Factory(lambda self: np.zeros(len(self)), takes_self=True)
_ENDLESS = attrs.Factory(lambda self: np.full(len(self), math.inf), takes_self=True)


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
        idle_w: Powers between activities, and while waiting for one's turn.
        sleep_w: Powers while sleeping.
        sleeps_after_s: How long each idles before it sleeps; infinite: it never does.
        presence: When they are there, one kind for all, or one for each; None: always.
        battery: What they take their energy from, one kind for all, or one for each.
        memory_bits: What must hold all that training takes; infinite: unlimited.
        receive_w: Powers while they receive, beside the static ones.
    """

    frequency_hz: NDArray[np.float64]
    capacitance_j_per_hz2: NDArray[np.float64]
    lowest_frequency_hz: NDArray[np.float64]
    static_power_w: NDArray[np.float64]
    tx_power_w: NDArray[np.float64]
    training_time: TrainingTime | Sequence[TrainingTime]
    idle_w: NDArray[np.float64] = _NO_POWER
    sleep_w: NDArray[np.float64] = _NO_POWER
    sleeps_after_s: NDArray[np.float64] = _ENDLESS
    presence: Presence | Sequence[Presence | None] | None = None
    battery: Battery | Sequence[Battery | None] | None = None
    memory_bits: NDArray[np.float64] = _ENDLESS
    receive_w: NDArray[np.float64] = _NO_POWER

    def __attrs_post_init__(self) -> None:
        wrong = ~((self.frequency_hz > 0.0) & (self.frequency_hz < math.inf))
        wrong |= ~((self.tx_power_w > 0.0) & (self.tx_power_w < math.inf))
        powers = (self.receive_w, self.idle_w, self.sleep_w, self.static_power_w, self.capacitance_j_per_hz2)
        for power in powers:
            wrong |= ~((power >= 0.0) & (power < math.inf))
        wrong |= ~(self.sleeps_after_s >= 0.0) | ~(self.memory_bits > 0.0)
        if wrong.any():
            _ = self[int(wrong.argmax())]  # which says what is wrong

    @classmethod
    def of(cls, devices: Sequence[Device]) -> "DeviceArrays":
        """Those of single ones."""
        if isinstance(devices, DeviceArrays):
            _check_plain(type(devices), DeviceArrays)
            return devices
        cpus = [device.cpu for device in devices]
        for plain, ones in ((Device, devices), (Cpu, cpus)):
            for kind in {type(one): None for one in ones}:
                _check_plain(kind, plain)
        columns = {name: np.array([getattr(cpu, name) for cpu in cpus], dtype=float) for name in _OF_CPU}
        columns |= {
            name: np.array([getattr(device, name) for device in devices], dtype=float) for name in _OF_DEVICE
        }
        columns |= {
            name: np.array([math.inf if (own := getattr(of, name)) is None else own for of in devices])
            for name in _OR_NONE
        }
        return cls(
            **columns,
            training_time=[device.training_time for device in devices],
            presence=[device.presence for device in devices],
            battery=[device.battery for device in devices],
        )

    @property
    def takes_power_at_rest(self) -> bool:
        """Whether any takes power between its activities."""
        return bool(self.idle_w.any() or self.sleep_w.any())

    @property
    def presences(self) -> Sequence[Presence | None]:
        """When they are there, one for each; None: always."""
        return self.presence if isinstance(self.presence, Sequence) else [self.presence] * len(self)

    @property
    def come_and_go(self) -> Presence | None:
        """When the first is there that is not always; None: all always are."""
        kinds = self.presence if isinstance(self.presence, Sequence) else [self.presence]
        return next((presence for presence in kinds if presence is not None), None)

    @property
    def batteries(self) -> Sequence[Battery | None]:
        """What they take their energy from, one for each."""
        return self.battery if isinstance(self.battery, Sequence) else [self.battery] * len(self)

    @property
    def have_batteries(self) -> bool:
        """Whether any has one."""
        return any(self.battery) if isinstance(self.battery, Sequence) else self.battery is not None

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
        presence: Any = self.presence[place] if isinstance(self.presence, Sequence) else self.presence
        battery: Any = self.battery[place] if isinstance(self.battery, Sequence) else self.battery
        cpu = {name: getattr(self, name)[place] for name in _OF_CPU}
        own = {name: getattr(self, name)[place] for name in _OF_DEVICE}
        ends = {name: getattr(self, name)[place] for name in _OR_NONE}
        if isinstance(place, slice):
            return DeviceArrays(
                **cpu,
                **own,
                training_time=law,
                **ends,
                presence=presence,
                battery=battery,
            )
        values = {name: float(value) for name, value in cpu.items()}
        return Device(
            cpu=Cpu(**values),
            **{name: float(value) for name, value in own.items()},
            training_time=law,
            sleeps_after_s=_or_none(ends["sleeps_after_s"]),
            memory_bits=_or_none(ends["memory_bits"]),
            presence=presence,
            battery=battery,
        )


def _check_plain(kind: type, plain: type) -> None:
    """Refuse methods of a subclass, which would go unasked: a run goes on with numbers alone."""
    if own := own_methods(kind, plain):
        raise ConfigurationError(
            f"{kind.__name__}.{own[0]}: a run takes the numbers of a {plain.__name__}, and asks no method of "
            "a subclass. Usual fix: other numbers, or a law of your own as training_time."
        )


def _or_none(value: float) -> float | None:
    return None if value == math.inf else float(value)


_OF_CPU = ("frequency_hz", "capacitance_j_per_hz2", "lowest_frequency_hz", "static_power_w")
_OF_DEVICE = ("tx_power_w", "receive_w", "idle_w", "sleep_w")
_OR_NONE = ("sleeps_after_s", "memory_bits")


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
