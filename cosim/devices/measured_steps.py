"""Measured steps: the seconds that each device takes for a local step, from a table of devices.

A benchmark says seconds, and a device has a frequency. The cycles of a step are their product, so a device of
the table takes the seconds that are measured at the frequency of its row, and at half of it twice as long.

| column | |
|---|---|
| device | a client's number, from 0, or its name |
| frequency_hz | frequency at which it was measured, as in `DeviceTable` |
| step_s | seconds of a step on the whole model, whatever its mini-batch; or |
| sample_s | seconds of a step for each sample of its mini-batch |

Usage: `System(devices=DeviceTable(file="phones.csv"), cycles=MeasuredSteps(file="phones.csv"))`.

Scope and limitations: for the network that was measured; a step on a part of it takes the part's share of the
trained parameters.

Validation: tests/devices/test_measured_steps.py.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.devices.cycles import Cycles, LocalStep
from cosim.names import ClientNames
from cosim.tables.devices import DeviceRows, table_of_devices
from cosim.tables.faults import fault, reads

STEP, SAMPLE = "step_s", "sample_s"


@part
class MeasuredSteps(Cycles):
    """Seconds of a local step of each device, from a table with one row for every client.

    Attributes:
        file: A csv or Parquet file with the columns device, frequency_hz, and step_s or sample_s; required.
            [no source]
    """

    lacks = ()

    file: str = ""

    @property
    @override
    def rule(self) -> str:
        return (
            f"A local step takes the seconds of {self.file}, whatever the network (cycles.file); on a "
            "submodel it takes the submodel's share of the trained parameters."
        )

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @override
    @reads("file")
    def fit(self, system: Any) -> None:
        """Refuse a table of clients other than the system's, or without times."""
        rows = self._rows()
        rows.check_clients(ClientNames(0, sum(system.sizes())), once=True)
        _measured(rows)

    @override
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> NDArray[np.float64]:
        measured = _measured(self._rows())
        own = measured.cycles[clients.numbers]
        return (own * step.batch_size if measured.of_sample else own) * step.fraction

    def _rows(self) -> DeviceRows:
        return table_of_devices(MeasuredSteps, self.file)


class _Measured(NamedTuple):
    """Cycles of a table.

    Attributes:
        cycles: Cycles of a step, or of a sample of its mini-batch, of each client, shape (clients,).
        of_sample: True if they are of a sample.
    """

    cycles: NDArray[np.float64]
    of_sample: bool


@lru_cache(maxsize=4)
def _measured(rows: DeviceRows) -> _Measured:
    """The cycles of a table with a row for each client."""
    table, names = rows.table, [name for name in (STEP, SAMPLE) if name in rows.table.columns]
    if len(names) != 1:
        what = f"has {'both columns' if names else 'neither of the columns'} {STEP} and {SAMPLE}"
        raise fault(table.path, what, f"one column: {STEP} for a step, or {SAMPLE} for each of its samples")
    for name in ("frequency_hz", *names):
        table.check(name, table.numbers(name) == 0.0, "is not above 0", "a measured value")
    cycles = np.zeros(table.num_rows)
    cycles[rows.numbers] = table.numbers("frequency_hz") * table.numbers(names[0])
    return _Measured(cycles, of_sample=names[0] == SAMPLE)
