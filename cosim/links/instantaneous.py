"""Instantaneous: a link that takes no time."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.jobs.job import Job
from cosim.links.port import Cell, CellLink, Link


@part
class Instantaneous(Link):
    """Link over which everything arrives at once."""

    @property
    @override
    def takes_time(self) -> bool:
        return False

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellLink]:
        return [_AtOnce()] * len(cells)


class _AtOnce(CellLink):
    @override
    def rates_bps(
        self, sim: Simulation, clients: Numbers, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        return np.full(len(clients), math.inf)
