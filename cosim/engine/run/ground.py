"""Ground: what the nodes of a run are made on, its clock and its devices.

The clock has the recorder, so what that keeps is known before: from the devices whether they take power at
rest, from the parts whether one reads histories, from the size of the run whether rows are too many.
"""

from collections.abc import Mapping
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from cosim.clock.simulation import Simulation
from cosim.configuration import parts_of
from cosim.configuration.rules import check_number
from cosim.devices.device import DeviceArrays
from cosim.engine.clients.rest import Rest, rest_rows
from cosim.names import edge_name
from cosim.recording.recorder import Recording
from cosim.system.needs import ClockKind, RecordsKind, keeps_rows
from cosim.system.system import System


class Ground(NamedTuple):
    """Ground of a run: what its nodes are made from.

    Attributes:
        cells: Edge server -> numbers of its clients.
        clock: Clock of the edge rounds, as `cosim.run` is asked for it; likewise `records`.
    """

    sim: Simulation
    devices: DeviceArrays
    cells: Mapping[str, slice]
    clock: ClockKind
    records: RecordsKind


def ground_of(
    system: System,
    clock: ClockKind = "events",
    records: RecordsKind = "all",
    shuffle_ties: int | None = None,
) -> Ground:
    """The clock, the devices and the cells of a system.

    Args:
        shuffle_ties: As for `Simulation`.

    Raises:
        ConfigurationError: Another number of devices than of clients.
    """
    sizes = system.sizes()
    # draws are named, so devices draw the same on a clock of their own
    found = system.devices.of_clients(Simulation(system.seed), sizes)
    check_number(system.devices, "of_clients", "devices", len(found), "clients", system.num_clients)
    devices = DeviceArrays.of(found)
    cells = {
        edge_name(cell): slice(end - size, end)
        for cell, (size, end) in enumerate(zip(sizes, accumulate(sizes), strict=True))
    }
    rows = rest_rows(devices)
    reads_history = any(part.reads_history for part in (*parts_of(system), *devices.parts))
    recording = Recording(
        rest=partial(Rest, devices, counts=system.evaluation.learns) if rows else None,
        num_remembered=len(devices) if reads_history else 0,
        tallied={} if keeps_rows(records, system, rows) else cells,
    )
    sim = Simulation(system.seed, shuffle_ties=shuffle_ties, recording=recording)
    return Ground(sim, devices, cells, clock, records)
