"""Benchmark devices: a csv or Parquet file with a row for each device, as benchmarks of phones publish them.

| column | such as | |
|---|---|---|
| of a time | `inference_ms` in AI-Benchmark's tables | for a sample or for a step |
| of rates | `ul_kbps`, `dl_kbps` of MobiPerf's measurements | optional |

Scope and limitations: one time for each device, for any network; `time_factor` scales it to another network,
or from inference to training.
"""

from typing import Literal

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.formats.converted import AnyPath
from cosim.formats.device_costs import DeviceCosts, Measured
from cosim.formats.factors import check_above_0
from cosim.formats.inputs import one_file
from cosim.tables.read import KINDS, table_of
from cosim.tables.table import Table


def benchmark_devices(
    file: AnyPath,
    *,
    time: str,
    per: Literal["step", "sample"],
    train_w: float,
    tx_power_w: float,
    time_unit_s: float = 1e-3,
    time_factor: float = 1.0,
    name: str | None = None,
    uplink: str | None = None,
    downlink: str | None = None,
    rate_unit_bps: float = 1e3,
) -> DeviceCosts:
    """A benchmark's table of devices: time for a sample or a step, and rates, each a column.

    Args:
        file: A csv or Parquet file, with a row for each device.
        time: Name of the column of times.
        per: Of what a time is: a step, or a sample.
        train_w: Power of a device that trains, of which benchmarks of times say nothing.
        tx_power_w: Power of a device that sends, likewise.
        time_unit_s: Unit of the times; 1e-3 for ms.
        time_factor: Time of training in times of the column's, such as 3 where it is of inference.
        name: Name of the column of the devices' names. None means the number of the row.
        uplink: Name of the column of rates up. None means that there is none.
        downlink: Name of the column of rates down. None means that there is none.
        rate_unit_bps: Unit of the rates; 1e3 for kbit/s, 1e6 for Mbit/s.

    Raises:
        ConfigurationError: The file does not fit.
    """
    path = one_file(file)
    if not path.name.endswith(KINDS):
        raise ConfigurationError(f"{path.name}: must end in {', '.join(KINDS)}. Use a table in csv.")
    for said, value in (
        ("time_unit_s", time_unit_s),
        ("time_factor", time_factor),
        ("rate_unit_bps", rate_unit_bps),
    ):
        check_above_0(said, value, "1 for no change")
    table = table_of(path)
    lasts_s = [time_unit_s * time_factor * number for number in _above_0(table, time)]
    nothing = [None] * table.num_rows
    up_bps, down_bps = (
        nothing if column is None else [rate_unit_bps * number for number in _above_0(table, column)]
        for column in (uplink, downlink)
    )
    names = [str(row) for row in range(table.num_rows)]
    if name is not None:
        each, which = table.names(name)
        names = [each[place] for place in map(int, which)]
    devices = [
        Measured(own, own_s, up, down)
        for own, own_s, up, down in zip(names, lasts_s, up_bps, down_bps, strict=True)
    ]
    return DeviceCosts.of(devices, per=per, train_w=train_w, tx_power_w=tx_power_w)


def _above_0(table: Table, column: str) -> list[float]:
    numbers = table.numbers(column)
    table.check(column, numbers == 0.0, "is not above 0", "a measured value, or leave the row out")
    table.check(column, np.isinf(numbers), "is infinite", "a measured value, or leave the row out")
    return numbers.tolist()
