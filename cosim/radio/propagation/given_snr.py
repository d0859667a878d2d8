"""Given SNR: a mean SNR that is given as a number, as in the HIST paper."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from cosim.client_values.port import PerGroup, Values, each
from cosim.clock.simulation import Simulation
from cosim.configuration import between, knob, part
from cosim.jobs.job import Job
from cosim.links.port import Cell
from cosim.radio.propagation.port import CellSnr, Each, Of, Propagation
from cosim.units import db_to_linear


@part
class GivenSnr(Propagation):
    """A mean SNR in any bandwidth and at any distance.

    Attributes:
        snr_db: SNR before fading of a client that sends at its highest power; at lower power it is lower.
            [HIST journal, Section VI-C]
    """

    snr_db: Values = knob(each(between(-300.0, 300.0)), default=PerGroup(values=(30.0, 40.0)))

    follows_power: ClassVar[bool] = False

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        levels_db = self.snr_db.of_clients([len(cell.clients) for cell in cells])
        return [_GivenCellSnr(cell, own) for cell, own in zip(cells, levels_db, strict=True)]


class _GivenCellSnr(CellSnr):
    def __init__(self, cell: Cell, levels_db: Sequence[float]) -> None:
        snrs = {level_db: db_to_linear(level_db) for level_db in set(levels_db)}
        self._snr = np.array([snrs[level_db] for level_db in levels_db])
        self._highest_w = cell.tx_power_w

    @override
    def snr(self, clients: Of, tx_power_w: Each, factor: Each, job: Job) -> Any:
        return self._snr[clients] * (tx_power_w / self._highest_w[clients]) * factor
