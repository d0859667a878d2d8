"""Noise only: the mean SNR if the whole gain of a channel is in its fading, as from a ray tracer."""

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import knob, part
from cosim.links.port import Cell
from cosim.radio.propagation.link_budget import BudgetedCellSnr
from cosim.radio.propagation.noise import noise_density, noise_figure
from cosim.radio.propagation.port import CellSnr, Propagation
from cosim.units import THERMAL_NOISE_DBM_PER_HZ, db_to_linear, dbm_to_w


@part
class NoiseOnly(Propagation):
    """A mean SNR from transmit power and noise, at a path gain of 1.

    Attributes:
        noise_dbm_per_hz: Noise density at the edge server. [no source: thermal noise at 290 K]
        noise_figure_db: Noise figure of the edge server. [no source]
    """

    noise_dbm_per_hz: float = knob(noise_density, default=THERMAL_NOISE_DBM_PER_HZ)
    noise_figure_db: float = knob(noise_figure, default=7.0)

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        noise_w_per_hz = dbm_to_w(self.noise_dbm_per_hz) * db_to_linear(self.noise_figure_db)
        gains = [np.ones(len(cell.clients)) for cell in cells]
        return [BudgetedCellSnr(lambda job, own=own: own, noise_w_per_hz) for own in gains]
