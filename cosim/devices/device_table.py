"""Device table: one row a device, as measured or as another program has made them.

Columns are `device`, a client's number or name, and the fields of `Cpu` and `Device` that are numbers, by
their names, and those of `Battery` behind `battery_`. A table must have `frequency_hz`,
`capacitance_j_per_hz2` and `tx_power_w`; others, such as `static_power_w`, have their defaults where there is
no column. In a column of what may be off an empty cell is off; who has no `battery_capacity_j` has no
battery. Other columns are passed over, such as `distance_m` (`TableTopology`) and `snr_db` (`Column`), unless
their names come so close to one of these that they seem to be misspelled.

Usage: `System(devices=DeviceTable(file="phones.csv"), topology=TableTopology(file="phones.csv"))`.

Scope and limitations: units are those of the columns' names, and are not checked.

Validation: tests/devices/test_populations.py.
"""

import difflib
import math
import types
import typing
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import attrs

from cosim.configuration import ConfigurationError, configuration
from cosim.devices.battery import Battery
from cosim.devices.cpu import Cpu
from cosim.devices.devices import Device, DeviceArrays, Devices
from cosim.devices.presence import Presence
from cosim.devices.training_time import AsPlanned, TrainingTime
from cosim.named_files.device_rows import DeviceRows, table_of_devices
from cosim.names import ClientNames
from cosim.simulation import Simulation

OTHERS = ("device", "distance_m", "snr_db")
"""Columns that other parts of ours read."""


class _Number(NamedTuple):
    """A field of a class that is a number.

    Attributes:
        is_needed: Whether it has no default.
        may_be_off: Whether it may be None.
    """

    owner: type
    name: str
    is_needed: bool
    may_be_off: bool


@configuration
class DeviceTable(Devices):
    """One row a device.

    Attributes:
        file: A csv or Parquet file with a column device and others; it must be given. [no source]
        training_time: How long a job trains.
        presence: When a client is there; none: always. [no source]
    """

    file: str = ""
    training_time: TrainingTime = AsPlanned()
    presence: Presence | None = None

    def files(self) -> tuple[str, ...]:
        """The table."""
        return (self.file,)

    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> DeviceArrays:
        """Everybody's row."""
        rows = table_of_devices(DeviceTable, self.file)
        known = [*_numbers_of(Cpu), *_numbers_of(Device)]
        of_batteries = [f"battery_{attribute.name}" for attribute in attrs.fields(Battery)]
        self._check_columns(rows, [*(number.name for number in known), *of_batteries])
        clients = ClientNames(0, sum(cell_sizes))
        columns = {
            number: rows.by_client(clients, rows.values(number.name, gaps=number.may_be_off)).tolist()
            for number in known
            if number.is_needed or number.name in rows.columns
        }
        devices = []
        for place in range(len(clients)):
            own = {number: values[place] for number, values in columns.items()}
            of_cpu, of_device = (
                {n.name: None if math.isnan(value) else value for n, value in own.items() if n.owner is kind}
                for kind in (Cpu, Device)
            )
            devices.append(Device(cpu=Cpu(**of_cpu), **of_device))  # type: ignore[arg-type]
        return attrs.evolve(
            DeviceArrays.of(devices),
            training_time=self.training_time,
            presence=self.presence,
            battery=_batteries(rows, clients),
        )

    def _check_columns(self, rows: DeviceRows, known: Sequence[str]) -> None:
        """Refuse a column that seems to be misspelled.

        Raises:
            ConfigurationError: The first.
        """
        for column in rows.columns:
            close = difflib.get_close_matches(column, known, n=1, cutoff=0.8)
            if close and column not in known and column not in OTHERS:
                raise ConfigurationError(
                    f"DeviceTable.file = {self.file!r}: says nothing in its column {column!r}. Did you mean "
                    f"{close[0]}? Usual fix: {close[0]}, or another name."
                )


def _batteries(rows: DeviceRows, clients: ClientNames) -> list[Battery | None] | None:
    """Those of everybody; an empty capacity is none."""
    prefix, capacity = "battery_", "battery_capacity_j"
    if capacity not in rows.columns:
        return None
    names = [attribute.name for attribute in attrs.fields(Battery) if prefix + attribute.name in rows.columns]
    columns = [
        rows.by_client(clients, rows.values(prefix + name, gaps=prefix + name == capacity)).tolist()
        for name in names
    ]
    each = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return [None if math.isnan(own["capacity_j"]) else Battery(**own) for own in each]


def _numbers_of(owner: type) -> Iterator[_Number]:
    """The fields of a class that are numbers."""
    hints = typing.get_type_hints(owner)
    for attribute in attrs.fields(owner):
        kinds = typing.get_args(hints[attribute.name]) or (hints[attribute.name],)
        if float in kinds:
            is_needed = attribute.default is attrs.NOTHING
            yield _Number(owner, attribute.name, is_needed, types.NoneType in kinds)
