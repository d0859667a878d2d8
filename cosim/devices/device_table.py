"""Device table: one row for each device, as measured or as another program has made them.

Columns are `device`, a client's number or name, the numbers of a `Device`, by their names, the fields of
`Battery` with the prefix `battery_`, and `kind`, the name of a device's kind, by which reports group clients.
A table must have `frequency_hz`, `capacitance_j_per_hz2` and `tx_power_w`; others, such as `static_power_w`,
have their defaults if there is no column. An empty cell means unlimited in a column of a number that may be
infinite; a device without `battery_capacity_j` has no battery.
Other columns are ignored, such as `distance_m` (`TableTopology`) and `snr_db` (`Column`), unless a name is so
close to one of these that it seems to be misspelled.
`presence_on_s` and `presence_off_s` are the mean times that a device stays and is away, both exponential
(`OnOff`); a device with an empty cell there is always there.

Usage: `System(devices=DeviceTable(file="phones.csv"), topology=TableTopology(file="phones.csv"))`.

Scope and limitations: units follow from the columns' names, and are not checked.

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
from cosim.configuration import ConfigurationError, part, refuse
from cosim.devices.battery import Battery
from cosim.devices.device import NUMBERS, DeviceArrays, DeviceNumbers
from cosim.devices.port import Devices
from cosim.devices.power_control import PowerControl
from cosim.devices.presence import OnOff, Presence
from cosim.devices.processor import Processor
from cosim.devices.training_time import TrainingTime
from cosim.names import ClientNames
from cosim.queues.service import Exponential
from cosim.tables.devices import DeviceRows, table_of_devices
from cosim.tables.faults import place, reads

BATTERY = "battery_"
"""Prefix of the names of a battery's numbers."""
KIND = "kind"
"""Column of the names of kinds."""
PRESENCE = ("presence_on_s", "presence_off_s")
"""Columns of the mean times that a device stays, and is away."""
OTHERS = ("device", "distance_m", "snr_db")
"""Columns that other built-in parts read."""


@part
class DeviceTable(Devices):
    """Table with one row for each device.

    Attributes:
        file: A csv or Parquet file with a column device and others; required. [no source]
        processor: Duration and power of a training; None means by the frequency. [no source]
        power_control: Power at which a client sends; None means its highest. [no source]
        training_time: Actual duration of a training; None means as planned. [no source]
        presence: Times when a client is present; None means always. [no source]
    """

    file: str = ""
    processor: Processor | None = None
    power_control: PowerControl | None = None
    training_time: TrainingTime | None = None
    presence: Presence | None = None

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @override
    @reads("file")
    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> DeviceArrays:
        rows = table_of_devices(DeviceTable, self.file)
        of_batteries = [BATTERY + attribute.name for attribute in attrs.fields(Battery)]
        self._check_columns(rows, [*NUMBERS, *of_batteries, KIND, *PRESENCE])
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
            kind=_kinds(rows, clients),
            processor=self.processor,
            power_control=self.power_control,
            training_time=self.training_time,
            presence=_presences(rows, clients, self.presence),
            battery=_batteries(rows, clients),
        )

    def _check_columns(self, rows: DeviceRows, known: Sequence[str]) -> None:
        """Refuse a column that seems to be misspelled.

        Raises:
            ConfigurationError: Names the first such column.
        """
        for column in rows.table.columns:
            close = difflib.get_close_matches(column.lower(), known, n=1, cutoff=0.8)
            if close and column not in known and column not in OTHERS:
                what = f"is no column of a table of devices. Did you mean {close[0]}?"
                raise ConfigurationError(
                    f"{place(rows.table.path, column=column)}: {what} Use {close[0]}, or another name."
                )


def _kinds(rows: DeviceRows, clients: ClientNames) -> Sequence[str] | None:
    """Name of each client's kind; None if the table names none."""
    if KIND not in rows.table.columns:
        return None
    each, which = rows.table.names(KIND)
    return [each[int(place)] for place in rows.by_client(clients, which).tolist()]


def _presences(
    rows: DeviceRows, clients: ClientNames, usual: Presence | None
) -> Presence | list[Presence | None] | None:
    """Presence of each client, always there if its times are empty; that of the part without the columns."""
    table, (on, off) = rows.table, PRESENCE
    if on not in table.columns and off not in table.columns:
        return usual
    if usual is not None:
        rule = f"the table has a column {on if on in table.columns else off}, too"
        raise refuse("DeviceTable", "presence", type(usual).__name__, rule, "Leave one of both out.")
    columns = {name: table.numbers(name, gaps=True) for name in PRESENCE}
    for name, other in ((on, off), (off, on)):
        is_gap = np.isnan(columns[name]) & ~np.isnan(columns[other])
        table.check(name, is_gap, "is empty", f"a mean time, or no {other}", value=False)
        table.check(name, columns[name] == 0.0, "is no mean time", "a time above 0")
    own = (rows.by_client(clients, columns[name]).tolist() for name in PRESENCE)
    return [None if math.isnan(on_s) else _on_off(on_s, off_s) for on_s, off_s in zip(*own, strict=True)]


def _on_off(on_s: float, off_s: float) -> OnOff:
    return OnOff(on=Exponential(rate_per_s=1.0 / on_s), off=Exponential(rate_per_s=1.0 / off_s))


def _batteries(rows: DeviceRows, clients: ClientNames) -> list[Battery | None] | None:
    """Battery of each client; an empty capacity means no battery."""
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
        table.hold_against(
            BATTERY + name, values, lambda value, name=name: Battery(**{"charge_w": 1.0} | {name: value})
        )
        columns[name] = rows.by_client(clients, values).tolist()
    each = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    batteries: list[Battery | None] = []
    for client, own in enumerate(each):
        with table.told(rows.row_of(client), capacity):
            batteries.append(None if math.isnan(own["capacity_j"]) else Battery(**own))
    return batteries
