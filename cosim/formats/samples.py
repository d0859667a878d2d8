"""Samples: rates that were measured now and then, as rates of slots, with a rule for slots without one."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.formats.rates import Steps
from cosim.formats.wall_clock import NS_PER_S
from cosim.tables.table import Table

Gaps = Literal["refuse", "hold", "zero"]
"""Slots without a rate are an error; have the rate before; have the rate 0."""
MOST_SLOTS = 10**8
"""Slots of a trace that fit into a computer. [no source]"""


def check_slot(slot_s: float) -> None:
    """Refuse what is no length of a slot.

    Raises:
        ConfigurationError: It is none.
    """
    if not 1e-9 <= slot_s < 1e9:
        raise ConfigurationError(f"slot_s = {slot_s:g}: must be the length of a row. Use 1, or 0.1.")


def slot_ns_of(slot_s: float) -> int:
    """Length of a slot in nanoseconds.

    Raises:
        ConfigurationError: It is none.
    """
    check_slot(slot_s)
    return round(slot_s * NS_PER_S)


def in_slots(
    table: Table,
    column: str,
    rows: NDArray[np.int64],
    time_ns: NDArray[np.int64],
    rate_bps: NDArray[np.float64],
    slot_ns: int,
    gaps: Gaps,
) -> Steps:
    """Mean rate of each slot of a device; slots begin with its first row.

    Args:
        column: Of the stamps, for messages.
        rows: Places of the device's rows in the table, from 0, shape (own rows,).
        time_ns: Stamps of its rows, shape (own rows,).
        rate_bps: Rates of its rows, NaN: none, shape (own rows,).
        gaps: Rule for slots without a rate; "hold" begins with the first row that has one.

    Raises:
        ConfigurationError: Stamps go back; there is a gap that is refused; there is no rate at all.
    """
    back = np.diff(time_ns, prepend=time_ns[:1]) < 0
    if back.any():
        what = "is before the row above of the same device"
        raise table.fault(int(rows[back.argmax()]), column, what, "rows in the order of time")
    is_given = ~np.isnan(rate_bps)
    if not is_given.any():
        raise table.fault(
            int(rows[0]), column, "is the first row of a device without any rate", "rows with rates"
        )
    if gaps == "hold":
        kept = slice(int(is_given.argmax()), None)
        rows, time_ns, rate_bps, is_given = rows[kept], time_ns[kept], rate_bps[kept], is_given[kept]
    slots = (time_ns - time_ns[0]) // slot_ns
    num_slots = int(slots[-1]) + 1
    if num_slots > MOST_SLOTS:
        what = f"is {num_slots * slot_ns / NS_PER_S:g} s after the first row of its device"
        raise table.fault(int(rows[-1]), column, what, "one session for each device, or a longer slot_s")
    counts = np.bincount(slots[is_given], minlength=num_slots)
    if gaps == "refuse" and not counts.all():
        missing = int((counts == 0).argmax())
        after = int(np.searchsorted(slots, missing))
        lacks = "has no rate" if slots[after] == missing else "follows a gap"
        what = f"{lacks}, {missing * slot_ns / NS_PER_S:g} s after the first row of its device"
        instead = "gaps = hold, which keeps the rate before, or gaps = zero, where there was no link"
        raise table.fault(int(rows[after]), column, what, instead)
    sums_bps = np.bincount(slots[is_given], weights=rate_bps[is_given], minlength=num_slots)
    means_bps = sums_bps / np.maximum(counts, 1)
    if gaps == "hold":
        means_bps = means_bps[np.maximum.accumulate(np.where(counts, np.arange(num_slots), 0))]
    edges_s = slot_ns * np.arange(num_slots + 1) / NS_PER_S
    return Steps(edges_s[:-1], means_bps, float(edges_s[-1]))
