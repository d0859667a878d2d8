"""Device table: one row a device, as measured or as another program has made them.

Columns are `device`, a client's number or name, and the numbers of a `Device`, by their names, and those of
`Battery` behind `battery_`. A table must have `frequency_hz`, `capacitance_j_per_hz2` and `tx_power_w`;
others, such as `static_power_w`, have their defaults where there is no column. In a column of what may be
without end an empty cell is; a device without `battery_capacity_j` has no battery. Other columns are passed
over, such as `distance_m` (`TableTopology`) and `snr_db` (`Column`), unless their names come so close to one
of these that they seem to be misspelled.

Usage: `System(devices=DeviceTable(file="phones.csv"), topology=TableTopology(file="phones.csv"))`.

Scope and limitations: units are those of the columns' names, and are not checked.

Validation: tests/devices/test_populations.py.
"""

import difflib
import math
from collections.abc import Sequence
from functools import partial

import attrs
import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.devices.battery import Battery
from cosim.devices.device import NUMBERS, DeviceArrays, DeviceNumbers
from cosim.devices.port import Devices
from cosim.devices.power_control import PowerControl
from cosim.devices.presence import Presence
from cosim.devices.processor import Processor
from cosim.devices.training_time import TrainingTime
from cosim.files.tables.devices import DeviceRows, table_of_devices
from cosim.files.tables.faults import place
from cosim.names import ClientNames

BATTERY = "battery_"
"""What stands before the names of a battery's numbers."""
OTHERS = ("device", "distance_m", "snr_db")
"""Columns that other parts of ours read."""


@part
class DeviceTable(Devices):
    """One row a device.

    Attributes:
        file: A csv or Parquet file with a column device and others; it must be given. [no source]
        processor: What a training takes; none: as the frequency says. [no source]
        power_control: At which power a client sends; none: its highest. [no source]
        training_time: How long a job trains; none: as planned. [no source]
        presence: When a client is there; none: always. [no source]
    """

    file: str = ""
    processor: Processor | None = None
    power_control: PowerControl | None = None
    training_time: TrainingTime | None = None
    presence: Presence | None = None

    @override
    def files(self) -> tuple[str, ...]:
        """The table."""
        return (self.file,)

    @override
    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> DeviceArrays:
        """Everybody's row."""
        rows = table_of_devices(DeviceTable, self.file)
        of_batteries = [BATTERY + attribute.name for attribute in attrs.fields(Battery)]
        self._check_columns(rows, [*NUMBERS, *of_batteries])
        clients = ClientNames(0, sum(cell_sizes))
        columns = {}
        for attribute in attrs.fields(DeviceNumbers):
            name, usual = attribute.name, attribute.default
            if usual is attrs.NOTHING or name in rows.table.columns:
                values = rows.table.numbers(name, gaps=usual == math.inf)
                own = rows.by_client(clients, values)
                columns[name] = np.where(np.isnan(own), math.inf, own)
                rows.table.hold_against(name, values, partial(attribute.validator, None, attribute))
        return DeviceArrays(
            **columns,
            processor=self.processor,
            power_control=self.power_control,
            training_time=self.training_time,
            presence=self.presence,
            battery=_batteries(rows, clients),
        )

    def _check_columns(self, rows: DeviceRows, known: Sequence[str]) -> None:
        """Refuse a column that seems to be misspelled.

        Raises:
            ConfigurationError: The first.
        """
        for column in rows.table.columns:
            close = difflib.get_close_matches(column.lower(), known, n=1, cutoff=0.8)
            if close and column not in known and column not in OTHERS:
                what = f"is no column of a table of devices. Did you mean {close[0]}?"
                raise ConfigurationError(
                    f"{place(rows.table.path, column=column)}: {what} Use {close[0]}, or another name."
                )


def _batteries(rows: DeviceRows, clients: ClientNames) -> list[Battery | None] | None:
    """The battery of each client; an empty capacity is none."""
    table, capacity = rows.table, f"{BATTERY}capacity_j"
    names = [
        attribute.name for attribute in attrs.fields(Battery) if BATTERY + attribute.name in table.columns
    ]
    if not names:
        return None
    has_none = np.isnan(table.numbers(capacity, gaps=True))
    columns = {}
    for name in names:
        values = table.numbers(BATTERY + name, gaps=True)
        table.check(BATTERY + name, np.isnan(values) & ~has_none, "is empty", f"a number, or no {capacity}")
        table.hold_against(BATTERY + name, values, lambda value, name=name: Battery(**{name: value}))
        columns[name] = rows.by_client(clients, values).tolist()
    each = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [None if math.isnan(own["capacity_j"]) else Battery(**own) for own in each]
