"""Mean SNR: the port of what decides how strong a client's signal is before fading.

Asked: for every cell the SNR of its clients in a job, in one of two forms: `snr`, the same in any bandwidth,
or `snr_in` a bandwidth. Both work element by element, as arithmetic of numpy does: clients are an index of
arrays of shape (clients,), and a single client is a number::

    class PowerLawCell(CellSnr):
        def snr(self, clients, tx_power_w, factor, job):
            return self.snr_per_w[clients] * tx_power_w * factor

Scope and limitations: an SNR follows from the job, not from the clock. What changes with time is fading.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.configuration import Port, part
from cosim.configuration.forms import Forms, one_of
from cosim.jobs.job import Job, Places
from cosim.links.port import Cell

Of = Places | int
"""Some clients of a cell, as an index of arrays of shape (clients,); one client as a number."""
Each = float | NDArray[np.float64]
"""A number for each of some clients, or that of one."""


class CellSnr(Forms):
    """The mean SNR of the clients of a cell."""

    forms = one_of(flat=("snr",), by_bandwidth=("snr_in",))

    def snr(self, clients: Of, tx_power_w: Each, factor: Each, job: Job) -> Any:
        """SNR of some clients in any bandwidth, linear, shape (clients,).

        Args:
            tx_power_w: Power of each of them.
            factor: How many times as strong as known beforehand the signal of each is.
        """
        raise NotImplementedError

    def snr_in(self, clients: Of, tx_power_w: Each, factor: Each, bandwidth_hz: float, job: Job) -> Any:
        """SNR of some clients in a bandwidth, else as `snr`."""
        return self.snr(clients, tx_power_w, factor, job)


@part
class Propagation(Port, ABC):
    """How a client's mean SNR is found.

    Attributes:
        follows_power: True if an SNR begins with the power in W of what sends; False if with the fraction of
            its highest power.
    """

    follows_power: ClassVar[bool] = True

    @abstractmethod
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        """Those of each cell, in their order."""
