"""Device: the numbers of a client's device, declared once, and the parts that say how it behaves.

| part | says | without it |
|---|---|---|
| `processor` | frequency, duration and power of a training | the highest frequency, or the one asked for |
| `power_control` | the power at which it sends | the highest, or the one asked for |
| `training_time` | actual duration of a training, given the planned one | as planned |
| `presence` | when the client is present | always |
| `battery` | its store of energy | unlimited |

A device is data; it has no subclasses.

Usage::

    Device(frequency_hz=1e9, capacitance_j_per_hz2=2e-28, tx_power_w=0.2)
    DeviceArrays(frequency_hz=np.array([1e9, 2e9]), capacitance_j_per_hz2=2e-28, tx_power_w=0.2)
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, NoReturn, TypeVar, overload

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.configuration import ConfigurationError, Port, refuse
from cosim.devices.battery import Battery
from cosim.devices.power_control import PowerControl
from cosim.devices.presence import Presence
from cosim.devices.processor import Processor, computing_w
from cosim.devices.training_time import TrainingTime

Each = TypeVar("Each")
"""A number, or an array with one for each client."""


def _must(fits: Callable[[Any], Any], rule: str, fix: str = "Check the table of devices.") -> Any:
    """Refuse numbers that do not fit."""

    def check(_device: object, attribute: Any, value: Any) -> None:
        if isinstance(value, float) and fits(value):
            return
        values = np.asarray(value, dtype=float)
        wrong = ~np.asarray(fits(values))
        if wrong.any():
            raise refuse("Device", attribute.name, float(values[wrong].flat[0]), rule, fix)

    return check


_ABOVE_0 = _must(lambda x: (x > 0.0) & (x < math.inf), "must be a finite number above 0")
_FROM_0 = _must(lambda x: (x >= 0.0) & (x < math.inf), "must be a finite number, 0 or above")
_TIME = _must(lambda x: x >= 0.0, "must be 0 or above", "Use infinity for a device that never sleeps.")
_MEMORY = _must(lambda x: x > 0.0, "must be above 0", "Use infinity for no limit.")
_NONE: Any = 0.0
_ENDLESS: Any = math.inf


@attrs.frozen(kw_only=True)
class DeviceNumbers(Generic[Each]):
    """The numbers of a device, or of many, as arrays of shape (clients,).

    Attributes:
        frequency_hz: Highest frequency of the processor.
        capacitance_j_per_hz2: Effective capacitance zeta, twice the joules per cycle and squared hertz.
        tx_power_w: Highest transmit power.
        lowest_frequency_hz: Lowest frequency that a protocol may ask for.
        static_power_w: Power while busy, beside computing and sending.
        receive_w: Power while receiving, beside the static one.
        idle_w: Power between activities, and while waiting for its turn.
        sleep_w: Power while asleep.
        sleeps_after_s: Idle time before it sleeps; infinite if it never does.
        memory_bits: Memory for everything that training needs (`cosim.system.memory`); infinite means
            unlimited.
    """

    frequency_hz: Each = attrs.field(validator=_ABOVE_0)
    capacitance_j_per_hz2: Each = attrs.field(validator=_FROM_0)
    tx_power_w: Each = attrs.field(validator=_ABOVE_0)
    lowest_frequency_hz: Each = attrs.field(default=_NONE, validator=_FROM_0)
    static_power_w: Each = attrs.field(default=_NONE, validator=_FROM_0)
    receive_w: Each = attrs.field(default=_NONE, validator=_FROM_0)
    idle_w: Each = attrs.field(default=_NONE, validator=_FROM_0)
    sleep_w: Each = attrs.field(default=_NONE, validator=_FROM_0)
    sleeps_after_s: Each = attrs.field(default=_ENDLESS, validator=_TIME)
    memory_bits: Each = attrs.field(default=_ENDLESS, validator=_MEMORY)


NUMBERS = tuple(attribute.name for attribute in attrs.fields(DeviceNumbers))
"""Names of the numbers of a device."""


@attrs.frozen(kw_only=True)
class Device(DeviceNumbers[float]):
    """A client's device.

    Attributes:
        processor: Duration and power of its trainings; None means at the highest frequency, or the one asked
            for.
        power_control: Power of its uploads; None means the highest, or the one asked for.
        training_time: Actual duration of its trainings; None means as planned.
        presence: Times when it is present; None means always.
        battery: Its store of energy; None means unlimited.
        kind: Name of its kind in a population of several, by which reports group clients; None means no name.
    """

    processor: Processor | None = None
    power_control: PowerControl | None = None
    training_time: TrainingTime | None = None
    presence: Presence | None = None
    battery: Battery | None = None
    kind: str | None = None

    @cached_property
    def train_w(self) -> float:
        """Power while computing at the highest frequency."""
        return computing_w(self, self.frequency_hz)

    def __init_subclass__(cls) -> NoReturn:
        raise _is_data(cls, Device)


PARTS = tuple(attribute.name for attribute in attrs.fields(Device) if attribute.name not in NUMBERS)
"""Names of the parts of a device, and of its kind."""


@attrs.frozen(kw_only=True, eq=False)
class DeviceArrays(DeviceNumbers[Any], Sequence[Device]):
    """Devices as arrays of shape (clients,); a number stands for all, as a part does.

    A `Device` is made on demand.

    Attributes:
        processor: Duration and power of trainings, one part for all, or one for each.
        power_control: Power of uploads, likewise.
        training_time: Actual duration of trainings, likewise.
        presence: Times when they are present, likewise.
        battery: Stores of energy, likewise.
        kind: Names of their kinds, one for all, or one for each; None means no names.
    """

    processor: Processor | Sequence[Processor | None] | None = None
    power_control: PowerControl | Sequence[PowerControl | None] | None = None
    training_time: TrainingTime | Sequence[TrainingTime | None] | None = None
    presence: Presence | Sequence[Presence | None] | None = None
    battery: Battery | Sequence[Battery | None] | None = None
    kind: Sequence[str | None] | None = None

    def __init_subclass__(cls) -> NoReturn:
        raise _is_data(cls, DeviceArrays)

    def __attrs_post_init__(self) -> None:
        num = len(self)
        if isinstance(self.kind, str):
            object.__setattr__(self, "kind", [self.kind] * num)
        for name in NUMBERS:
            value = np.asarray(getattr(self, name), dtype=float)
            if not value.ndim:  # zeros that are never written take no memory
                value = np.full(num, value) if value else np.zeros(num)
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, devices: Sequence[Device]) -> "DeviceArrays":
        """Arrays of single devices."""
        if isinstance(devices, DeviceArrays):
            return devices
        numbers = {name: np.array([getattr(device, name) for device in devices]) for name in NUMBERS}
        return cls(**numbers, **{name: [getattr(device, name) for device in devices] for name in PARTS})

    def kinds_of(self, name: str) -> Sequence[tuple[Any, NDArray[np.bool_] | None]]:
        """Each part of a name, with a mask of its clients, shape (clients,); None means all clients."""
        found = self._kinds.get(name)
        if found is None:
            parts = getattr(self, name)
            if isinstance(parts, Sequence):
                kinds = list(dict.fromkeys(parts))
                found = [(kind, np.array([part == kind for part in parts])) for kind in kinds]
                found = [(kinds[0], None)] if len(kinds) == 1 else found
            else:
                found = [(parts, None)]
            self._kinds[name] = found
        return found

    @property
    def parts(self) -> Sequence[Any]:
        """All parts that any of them has, each once for its name."""
        return [part for name in PARTS for part, _ in self.kinds_of(name) if isinstance(part, Port)]

    def are_plain(self, name: str) -> bool:
        """True if no device has a part of a name."""
        return getattr(self, name) is None or all(part is None for part, _ in self.kinds_of(name))

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        return {}

    @property
    def takes_power_at_rest(self) -> bool:
        """True if any takes power between its activities."""
        return bool(self.idle_w.any() or self.sleep_w.any())

    @property
    def come_and_go(self) -> Presence | None:
        """First presence of a device that is not always there; None means that all always are."""
        return next((presence for presence, _ in self.kinds_of("presence") if presence is not None), None)

    @property
    def have_batteries(self) -> bool:
        """True if any has a battery."""
        return not self.are_plain("battery")

    def each(self, name: str) -> Sequence[Any]:
        """Part of a name of each client."""
        parts = getattr(self, name)
        return parts if isinstance(parts, Sequence) else [parts] * len(self)

    @cached_property
    def train_w(self) -> NDArray[np.float64]:
        """Powers while computing at the highest frequency."""
        return computing_w(self, self.frequency_hz)

    @override
    def __len__(self) -> int:
        return len(self.frequency_hz)

    @override
    def __iter__(self) -> Iterator[Device]:
        return (self[place] for place in range(len(self)))

    @overload
    def __getitem__(self, place: int) -> Device: ...
    @overload
    def __getitem__(self, place: slice | NDArray[Any]) -> "DeviceArrays": ...
    @override
    def __getitem__(self, place: Any) -> Any:
        numbers = {name: getattr(self, name)[place] for name in NUMBERS}
        parts = {name: getattr(self, name) for name in PARTS}
        each = {name: part for name, part in parts.items() if isinstance(part, Sequence)}
        if np.ndim(place) == 0 and not isinstance(place, slice):
            numbers = {name: value.item() for name, value in numbers.items()}
            return Device(**numbers, **parts | {name: part[place] for name, part in each.items()})
        which: list[int] = np.arange(len(self))[place].tolist()
        return DeviceArrays(
            **numbers, **parts | {name: [part[one] for one in which] for name, part in each.items()}
        )


def _is_data(kind: type, plain: type) -> ConfigurationError:
    return ConfigurationError(
        f"{kind.__name__}: a {plain.__name__} holds numbers only, so what a subclass of it adds would "
        "not be used. Write a cosim.devices.Processor or a cosim.devices.PowerControl of your own, "
        "and give it to the device."
    )
