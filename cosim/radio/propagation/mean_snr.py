"""Mean SNR: the port of what decides how strong a client's signal is before fading."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import HELPERS, Port, Shortcuts, configuration, stand_for
from cosim.links.link import Cell, Job
from cosim.simulation import Simulation

Factors = float | NDArray[np.float64]


class MeanSnr(Shortcuts, ABC):
    """The SNR of one client at one transmit power."""

    shortcuts = stand_for(is_flat=("snr_in", "scaled"))

    @property
    def is_flat(self) -> bool:
        """Whether it is the same in any bandwidth, so that a rate is in proportion to its share."""
        return False

    @abstractmethod
    def snr_in(self, bandwidth_hz: float) -> float:
        """SNR in a bandwidth, linear."""

    @abstractmethod
    def scaled(self, factor: float) -> "MeanSnr":
        """The same with a signal so many times as strong."""


class CellSnr(Shortcuts, ABC):
    """The mean SNR of every client of a cell."""

    shortcuts = stand_for(of_all=("of", HELPERS), is_flat=("of", "of_all"))

    @property
    def is_flat(self) -> bool:
        """Whether everybody's is the same in any bandwidth, as those of `of` say one by one."""
        return False

    @property
    def made_of(self) -> "Sequence[CellSnr]":
        """It, and those that it asks."""
        return (self,)

    @abstractmethod
    def of(self, client: int, tx_power_w: float, job: Job) -> MeanSnr:
        """That of the client with this number in its cell."""

    def of_all(
        self, tx_power_w: NDArray[np.float64], factor: Factors, bandwidth_hz: float, job: Job
    ) -> NDArray[np.float64] | None:
        """Those of all clients in a bandwidth, to the last bit; None: nobody has written them for arrays.

        Args:
            tx_power_w: Power of each, shape (clients,).
            factor: How many times as strong their signals are, one number or shape (clients,).
        """
        return None


@configuration
class Propagation(Port, ABC):
    """How a client's mean SNR is found."""

    @property
    def follows_power(self) -> bool:
        """Whether it follows from what a sender's power is, and not from what part of its highest it is."""
        return True

    @abstractmethod
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        """Those of each cell, in their order."""
