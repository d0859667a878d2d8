"""A user's own numbers of the radio, in each form that they may have."""

import numpy as np

import cosim
from cosim.configuration import configuration
from cosim.radio.propagation.link_budget import BudgetedCellSnr
from cosim.radio.propagation.mean_snr import CellSnr


@configuration
class PerWatt(cosim.Propagation):
    """The same SNR for each watt in any bandwidth."""

    def of_cells(self, sim, cells):
        return [PerWattCell() for _ in cells]


class PerWattCell(CellSnr):
    """Flat."""

    def snr(self, clients, tx_power_w, factor, job):
        return 3.0 * tx_power_w * factor


@configuration
class Dense(cosim.Propagation):
    """So much power for each hertz at most."""

    def of_cells(self, sim, cells):
        return [DenseCell(1.0 + np.arange(len(cell.clients))) for cell in cells]


class DenseCell(CellSnr):
    """By bandwidth."""

    def __init__(self, gains):
        self.gains = gains

    def snr_in(self, clients, tx_power_w, factor, bandwidth_hz, job):
        return np.minimum(5e6 * tx_power_w / bandwidth_hz, 2.0) * self.gains[clients] * factor


@configuration
class Weaker(cosim.NoiseOnly):
    """A kind of ours with a method of one's own."""

    def of_cells(self, sim, cells):
        found = super().of_cells(sim, cells)
        for snr in found:
            snr.__class__ = WeakerCell
        return found


class WeakerCell(BudgetedCellSnr):
    """Weaker in every job."""

    def snr_in(self, clients, tx_power_w, factor, bandwidth_hz, job):
        return 1e-13 / (1.0 + job.number) * super().snr_in(clients, tx_power_w, factor, bandwidth_hz, job)
