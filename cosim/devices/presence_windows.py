"""Presence windows: times when devices are present, from a table.

| column | |
|---|---|
| device | a client's number, from 0, or its name |
| from_s | when it comes; it is present from this instant on |
| to_s | when it leaves; inf: never |
| period_s | optional: after which the windows of the device repeat |

Rows come in any order. Windows of a device that overlap or meet are joined. After its last window a device
does not come back, unless there is a period: one for all in the field, or one for each device in the column.
Every client has a row, and every row is a client's.

Scope and limitations: whole tables in memory (`cosim.tables.devices`).

Validation: tests/devices/test_presence_windows.py.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.clock.simulation import Simulation
from cosim.configuration import knob, lasting, part, refuse
from cosim.devices.presence import Presence, Window
from cosim.files.on_disk import shown
from cosim.names import by_number
from cosim.tables.devices import DeviceRows, table_of_devices
from cosim.tables.faults import reads

PERIOD, SHORTEST_S = "period_s", 1e-9
LATEST_FIRST_S = 1e6
"""The latest begin of a table's first window; later ones are of a calendar, or in ms. [no source]"""
LONG_WINDOW_S = 1e5
"""Windows longer than a day look like ones in ms. [no source]"""


@part
class PresenceWindows(Presence):
    """Windows from a table.

    Attributes:
        file: A csv or Parquet file with the columns device, from_s and to_s; required. [no source]
        period_s: Period after which the windows of all devices repeat, such as 86400 for every day; None
            means that of the table's column period_s, or that they do not repeat. [no source]
    """

    file: str = ""
    period_s: float | None = knob(lasting, default=None)

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @override
    @reads("file")
    def check(self, clients: Sequence[str]) -> None:
        """Refuse a table of other clients, or with windows longer than their period."""
        rows = table_of_devices(PresenceWindows, self.file)
        rows.check_clients(clients)
        _windows(rows)
        periods_s = self._periods_s(rows)
        if periods_s is not None:
            beyond = rows.table.numbers("to_s", most=math.inf) > periods_s
            rows.table.check("to_s", beyond, "is above the period", "a longer period, or none")

    @override
    @reads("file")
    def remarks(self) -> tuple[str, ...]:
        table = table_of_devices(PresenceWindows, self.file).table
        lasts_s = table.numbers("to_s", most=math.inf) - table.numbers("from_s")
        median_s = float(np.median(lasts_s[np.isfinite(lasts_s)])) if np.isfinite(lasts_s).any() else 0.0
        if median_s <= LONG_WINDOW_S:
            return ()
        what = f"{shown(table.path)}, column 'to_s': a window lasts {median_s:g} s in the median"
        return (f"{what}. Use from_s / 1000 and to_s / 1000 if they are in ms.",)

    @override
    def windows(self, sim: Simulation, client: str) -> Iterator[Window]:
        rows, number = table_of_devices(PresenceWindows, self.file), by_number(client)[1]
        own, periods_s = _windows(rows)[number], self._periods_s(rows)
        if periods_s is None:
            yield from own
            return
        period_s = float(periods_s[rows.row_of(number)])
        for turn in count():
            start_s = turn * period_s
            for from_s, to_s in own:
                yield start_s + from_s, start_s + to_s

    def _periods_s(self, rows: DeviceRows) -> NDArray[np.float64] | None:
        """Period of the device of each row, shape (rows,); None means that windows do not repeat."""
        if PERIOD not in rows.table.columns:
            return None if self.period_s is None else np.broadcast_to(self.period_s, rows.table.num_rows)
        if self.period_s is not None:
            rule = f"the table has a column {PERIOD}"
            raise refuse("PresenceWindows", PERIOD, self.period_s, rule, f"Use {PERIOD} = None.")
        return _own_periods_s(rows)


@lru_cache(maxsize=4)
def _own_periods_s(rows: DeviceRows) -> NDArray[np.float64]:
    """Periods of a table's column, the same in all rows of a device, shape (rows,)."""
    periods_s = rows.table.numbers(PERIOD)
    below = periods_s < SHORTEST_S
    rows.table.check(PERIOD, below, "is below a nanosecond", "the time until the windows repeat, in s")
    _, first, which = np.unique(rows.numbers, return_index=True, return_inverse=True)
    differs = periods_s != periods_s[first][which]
    if differs.any():
        line = rows.table.line(int(first[which[differs.argmax()]]))
        rule = f"is another period than that of row {line}"
        rows.table.check(PERIOD, differs, rule, "one period for each device")
    return periods_s


@lru_cache(maxsize=4)
def _windows(rows: DeviceRows) -> dict[int, list[Window]]:
    """Windows of each client of a table, by its number, in order and joined."""
    from_s, to_s = rows.table.numbers("from_s"), rows.table.numbers("to_s", most=math.inf)
    first = from_s == from_s.min()
    what = f"is the first time of the table, {from_s.min() / 86_400.0:,.0f} days after the run begins"
    rows.table.check(
        "from_s", first & (from_s > LATEST_FIRST_S), what, "times since the start of the run, in s"
    )
    late = "is 1e9 or more, when the clock ends", "times since the start of the run"
    rows.table.check("from_s", from_s >= LATEST_S, *late)
    rows.table.check("to_s", (to_s >= LATEST_S) & (to_s < math.inf), late[0], f"{late[1]}, or inf")
    rows.table.check("to_s", to_s <= from_s, "is not after from_s", "the end of the window, after it begins")
    found: dict[int, list[Window]] = {}
    for row in np.lexsort((from_s, rows.numbers)).tolist():
        own = found.setdefault(int(rows.numbers[row]), [])
        window = float(from_s[row]), float(to_s[row])
        if own and window[0] <= own[-1][1]:
            own[-1] = own[-1][0], max(own[-1][1], window[1])
        else:
            own.append(window)
    return found
