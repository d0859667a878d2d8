"""Mean SNR: the port of the strength of a client's signal before fading.

Asked: for every cell the SNR of its clients in a job, in one of two forms: `snr`, the same in any bandwidth,
or `snr_in` a bandwidth. Both work element by element, as arithmetic of numpy does: clients are an index of
arrays of shape (clients,), and a single client is a number::

    class PowerLawCell(CellSnr):
        def snr(self, clients, tx_power_w, factor, job):
            return self.snr_per_w[clients] * tx_power_w * factor

Scope and limitations: an SNR follows from the job, not from the clock. Only fading changes with time.
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
"""Some clients of a cell, as an index of arrays of shape (clients,), or one client as a number."""
Each = float | NDArray[np.float64]
"""A number for each of some clients, or for one."""


class CellSnr(Forms):
    """Mean SNR of the clients of a cell."""

    forms = one_of(flat=("snr",), by_bandwidth=("snr_in",))

    def snr(self, clients: Of, tx_power_w: Each, factor: Each, job: Job) -> Any:
        """SNR of some clients in any bandwidth, linear, shape (clients,).

        Args:
            tx_power_w: Power of each client.
            factor: Strength of each signal relative to the known one.
        """
        raise NotImplementedError

    def snr_in(self, clients: Of, tx_power_w: Each, factor: Each, bandwidth_hz: float, job: Job) -> Any:
        """SNR of some clients in a bandwidth; otherwise as `snr`."""
        return self.snr(clients, tx_power_w, factor, job)


@part
class Propagation(Port, ABC):
    """Rule for a client's mean SNR.

    Attributes:
        follows_power: True if an SNR is asked for a power in W; False if for a fraction of the highest power.
    """

    follows_power: ClassVar[bool] = True

    @abstractmethod
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        """Mean SNRs of each cell, in their order."""
