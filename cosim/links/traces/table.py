"""Table of rates: one row for each stamp of each device, as csv or Parquet.

| column | |
|---|---|
| time_s | when the row begins to hold; 0 in the first row of a device, and ascending from row to row of it |
| device | a client's number or name, or any name where traces are dealt |
| rate_bps | bits per second until the next row of the device, 0 or above |

Rows of different devices may come in any order; other columns are passed over. Every fault is an error that
names file, row (of a csv file the line, the header's is 1; of Parquet counted from 1) and column.

Scope and limitations: whole tables in memory, each read once by a process; nothing is interpolated.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import LATEST_S
from cosim.links.traces.course import remarks_on_steps
from cosim.tables.once import once
from cosim.tables.read import table_of

COLUMNS = ("time_s", "device", "rate_bps")


FEW_BPS, NARROW_BPS, GAP = 1e3, 1e5, 20.0
"""Rates that are small for any link and for a mobile one, and a step that is long beside the usual one.

[no source]
"""


class Rows(NamedTuple):
    """The rows of one device, arrays of shape (rows,)."""

    time_s: NDArray[np.float64]
    rate_bps: NDArray[np.float64]


def read(path: Path) -> Mapping[str, Rows]:
    """The rows of each device of a file, devices in the order in which they come.

    Raises:
        ConfigurationError: No such table; a value that is empty, no number, below 0 or beyond 1e30; stamps
            of a device that do not begin with 0, go back or come twice.
    """
    return once(_rows, path)


def remarks_on(where: str, devices: Mapping[str, Rows]) -> tuple[str, ...]:
    """Sentences on stamps and rates that are legal, and look like a mistake."""
    rates_bps = np.concatenate([rows.rate_bps for rows in devices.values()])
    steps_s = np.concatenate([np.diff(rows.time_s) for rows in devices.values()])
    found = [*_on_rates(where, rates_bps[rates_bps > 0.0]), *remarks_on_steps(f"{where}, column", steps_s)]
    for device, (time_s, _) in devices.items():
        steps_s = np.diff(time_s)
        longest = int(steps_s.argmax()) if len(steps_s) > 1 else 0
        if len(steps_s) > 1 and steps_s[longest] > GAP * np.median(steps_s):
            found.append(
                f"{where}, device {device!r}: no row between {time_s[longest]:g} s and "
                f"{time_s[longest + 1]:g} s, so its rate stays for so long. Use rows in between, of "
                "rate 0 where there was no link."
            )
            break  # the other devices were most often recorded alike
    return tuple(found)


def _on_rates(where: str, rates_bps: NDArray[np.float64]) -> Iterator[str]:
    """Sentence on rates above 0 that look like ones in another unit."""
    median_bps = float(np.median(rates_bps)) if len(rates_bps) else math.inf
    if median_bps >= NARROW_BPS:
        return
    what = f"{where}, column 'rate_bps': its median is {median_bps:.10g} bit/s"
    if median_bps < FEW_BPS:
        yield f"{what}. Use 1e6 times the column if it is in Mbit/s, 1000 times if in kbit/s."
    else:
        yield f"{what}. Use 1000 times the column if it is in kbit/s."


def _rows(path: Path) -> Mapping[str, Rows]:
    table = table_of(path)
    table.check_columns(*COLUMNS)
    numbers = {name: table.numbers(name) for name in ("time_s", "rate_bps")}
    devices, which = table.names("device")
    order = np.argsort(which, kind="stable")
    time_s, firsts = numbers["time_s"][order], np.flatnonzero(np.diff(which[order], prepend=-1))
    late = np.zeros(len(order), dtype=bool)
    late[order[firsts]] = time_s[firsts] != 0.0
    table.check(
        "time_s", late, "is the first of its device and not 0", "times since the first stamp, or a row at 0"
    )
    what, fix = "is 1e9 or more, when the clock ends", "times since the first stamp"
    table.check("time_s", numbers["time_s"] >= LATEST_S, what, fix)
    goes_back = np.zeros(len(order), dtype=bool)
    goes_back[order[1:]] = (np.diff(time_s) <= 0.0) & (np.diff(which[order]) == 0)
    what = "is not after the row before it of the same device"
    table.check("time_s", goes_back, what, "rows in the order of time_s, one of each stamp")
    parts = np.split(order, firsts[1:])
    return {
        device: Rows(_kept(numbers["time_s"][part]), _kept(numbers["rate_bps"][part]))
        for device, part in zip(devices, parts, strict=True)
    }


def _kept(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values.flags.writeable = False
    return values
