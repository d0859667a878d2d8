"""Packets: a table with a row for each packet that was received, such as a sink's trace or a capture's.

| column | |
|---|---|
| `time_s` | when it was there, from the start of the simulation or the capture |
| `node` | its client |
| `bytes` | its size |

Scope and limitations: bytes are what was sent, not what could be: saturate the link.
"""

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.formats.converted import AnyPath
from cosim.formats.inputs import device_of, files_of
from cosim.formats.rates import Rates, Steps
from cosim.formats.samples import MOST_SLOTS, check_slot
from cosim.tables.read import table_of


def packets(
    *files: AnyPath,
    time: str = "time_s",
    size: str = "bytes",
    device: str | None = "node",
    slot_s: float = 0.1,
    end_s: float | None = None,
) -> Rates:
    """Packets that were received: csv or Parquet, a row for each, with its time and bytes.

    Args:
        files: Tables, or folders of them.
        time: Column of the times, in s, of which 0 is the start.
        size: Column of the sizes, in bytes.
        device: Column of the clients. None means that each file is one.
        slot_s: Length of a row; a slot in which nothing came has the rate 0.
        end_s: End of the measurement. None means that of the slot with the last packet of the file.

    Raises:
        ConfigurationError: A column is not there; a value is no number of 0 or above, or beyond end_s.
    """
    check_slot(slot_s)
    if end_s is not None and not 0.0 < end_s < MOST_SLOTS * slot_s:
        raise ConfigurationError(
            f"end_s = {end_s:g}: is no end of a measurement. Use one in s, or a longer slot_s."
        )
    paths, found = files_of(files), dict[str, Steps]()
    for client, path in paths.items():
        table = table_of(path)
        time_s, num_bytes = table.numbers(time), table.numbers(size)
        is_late = time_s / slot_s >= MOST_SLOTS
        table.check(time, is_late, "is too late for rows that short", "times since the start, in s")
        slots = np.floor(time_s / slot_s).astype(np.int64)
        if end_s is not None:
            table.check(time, time_s > end_s, f"is after end_s = {end_s:g}", "a later end_s")
            slots = np.minimum(slots, int(np.ceil(end_s / slot_s)) - 1)
        num_slots = int(slots.max()) + 1 if end_s is None else int(np.ceil(end_s / slot_s))
        edges_s = slot_s * np.arange(num_slots + 1)
        edges_s[-1] = edges_s[-1] if end_s is None else end_s
        each, which = ([client], np.zeros(len(slots), int)) if device is None else table.names(device)
        for number, within in enumerate(each):
            own = which == number
            in_slots = np.bincount(slots[own], weights=8.0 * num_bytes[own], minlength=num_slots)
            name = client if device is None else device_of(client, within, len(paths))
            found[name] = Steps.carrying(edges_s, in_slots)
    return Rates.of(found)
