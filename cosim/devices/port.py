"""Devices: the port of the clients' devices.

Usage::

    devices = DrawnDevices().of_clients(sim, cell_sizes=(3, 3))
    devices[0].frequency_hz
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from cosim.clock.simulation import Simulation
from cosim.configuration import Port, part
from cosim.devices.device import Device


@part
class Devices(Port, ABC):
    """Devices of the clients."""

    @abstractmethod
    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> Sequence[Device]:
        """Device of every client, in the order of their numbers; asked once for a simulation.

        For many clients, `DeviceArrays` are fastest.

        Args:
            cell_sizes: Clients of each cell, which are numbered cell by cell.
        """
