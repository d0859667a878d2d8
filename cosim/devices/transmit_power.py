"""Transmit power: the highest power at which each client sends.

A client sends at its highest power unless a protocol asks for less.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers, uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import Port, between, knob, part, positive, refuse
from cosim.units import dbm_to_w


@part
class TransmitPower(Port, ABC):
    """The clients' highest transmit powers."""

    @abstractmethod
    def highest_w(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        """Highest power of each client, shape (clients,).

        Args:
            clients: All clients of the run, asked for once.
        """


@part
class SamePower(TransmitPower):
    """One power for all clients.

    Attributes:
        power_w: The power. [no source]
    """

    power_w: float = knob(positive, default=0.2)

    @override
    def highest_w(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        return np.full(len(clients), self.power_w)


@part
class PowerRange(TransmitPower):
    """A power for each client, uniform in dBm.

    Attributes:
        lowest_dbm: Lowest power. [RawHFL, Section V-A]
        highest_dbm: Highest power. [RawHFL, Section V-A]
    """

    lowest_dbm: float = knob(between(-100.0, 100.0), default=20.0)
    highest_dbm: float = knob(between(-100.0, 100.0), default=30.0)

    def __attrs_post_init__(self) -> None:
        if self.lowest_dbm > self.highest_dbm:
            rule = f"is above highest_dbm = {self.highest_dbm:g}"
            raise refuse("PowerRange", "lowest_dbm", self.lowest_dbm, rule, "Swap them.")

    @override
    def highest_w(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        """Power of each client, drawn uniformly in dBm, shape (clients,)."""
        drawn = sim.of_client(clients, "transmit power", uniforms)
        dbm = self.lowest_dbm + (self.highest_dbm - self.lowest_dbm) * drawn
        return np.array([dbm_to_w(value) for value in dbm])
