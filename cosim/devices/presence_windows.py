"""Presence windows: times when devices are there, from a table.

| column | |
|---|---|
| device | a client's number, from 0, or its name |
| from_s | when it comes; it is there from this instant on |
| to_s | when it leaves; inf: never |

Rows come in any order. Windows of a device that overlap or meet are joined. After its last window a device
does not come back, unless the table has a period. Every client has a row, and every row is a client's.

Scope and limitations: whole tables in memory (`cosim.files.tables.devices`).

Validation: tests/devices/test_presence_windows.py.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count

import numpy as np
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.clock.simulation import Simulation
from cosim.configuration import knob, lasting, part
from cosim.devices.presence import Presence, Window
from cosim.files.tables.devices import DeviceRows, table_of_devices
from cosim.names import by_number

LATEST_FIRST_S = 1e6
"""The latest begin of a table's first window; later ones are of a calendar, or in ms. [no source]"""


@part
class PresenceWindows(Presence):
    """Windows from a table.

    Attributes:
        file: A csv or Parquet file with the columns device, from_s and to_s; required. [no source]
        period_s: Period after which the windows repeat, such as 86400 for every day; None means that they do
            not. [no source]
    """

    file: str = ""
    period_s: float | None = knob(lasting, default=None)

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @override
    def check(self, clients: Sequence[str]) -> None:
        """Refuse a table of other clients, or with windows longer than its period."""
        rows = table_of_devices(PresenceWindows, self.file)
        rows.check_clients(clients)
        _windows(rows)
        if self.period_s is not None:
            beyond = rows.table.numbers("to_s", most=math.inf) > self.period_s
            rows.table.check(
                "to_s", beyond, f"is above period_s = {self.period_s:g}", "a longer period, or none"
            )

    @override
    def windows(self, sim: Simulation, client: str) -> Iterator[Window]:
        own = _windows(table_of_devices(PresenceWindows, self.file))[by_number(client)[1]]
        if self.period_s is None:
            yield from own
            return
        for turn in count():
            start_s = turn * self.period_s
            for from_s, to_s in own:
                yield start_s + from_s, start_s + to_s


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
