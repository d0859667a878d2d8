"""A user's own numbers of the radio, in each form that they may have."""

import math

import numpy as np

import cosim
from cosim.configuration import configuration, for_each
from cosim.radio.propagation.link_budget import BudgetedCellSnr
from cosim.radio.propagation.port import CellSnr
from cosim.radio.redrawn import EveryEdgeRound, GainCourse, Redrawn


@configuration
class PerWatt(cosim.radio.Propagation):
    """The same SNR for each watt in any bandwidth."""

    def of_cells(self, sim, cells):
        return [PerWattCell() for _ in cells]


class PerWattCell(CellSnr):
    """Flat."""

    def snr(self, clients, tx_power_w, factor, job):
        return 3.0 * tx_power_w * factor


@configuration
class Dense(cosim.radio.Propagation):
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
class Weaker(cosim.radio.NoiseOnly):
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


@configuration
class TwoPaths(cosim.radio.Fading):
    """Vectors of two antennas, in every edge round."""

    redrawn: Redrawn = EveryEdgeRound()

    def vectors(self, sim, clients, block):
        angles = np.array([sim.stream(client, "angle", *block).random() for client in clients])
        return 0.1 * np.exp(2j * np.pi * np.outer(angles, [1.0, 2.0]))


@configuration
class Shadows(cosim.radio.Fading):
    """Gains, one client after the other."""

    redrawn: Redrawn = EveryEdgeRound()

    @for_each
    def gains(self, sim, client, block):
        return 0.01 * sim.stream(client, "shadow", *block).standard_exponential()


@configuration
class Steps(cosim.radio.Fading):
    """A course: a step at times of each client's own."""

    def course(self, sim, client):
        return StepsOfClient(0.001 + 0.0001 * int(client[-1]))


class StepsOfClient(GainCourse):
    """Weaker and stronger in turn."""

    def __init__(self, step_s):
        self.step_s = step_s

    def at(self, now_s):
        return (math.floor(now_s / self.step_s + 1e-9),)

    def end_s(self, block):
        return (block[0] + 1) * self.step_s

    def after(self, block):
        return (block[0] + 1,)

    def gain(self, block):
        return (0.001, 0.01)[block[0] % 2]


@configuration
class Quieter(cosim.Rayleigh):
    """A kind of ours with a method of one's own."""

    def vectors(self, sim, clients, block):
        return 0.1 * super().vectors(sim, clients, block)
