"""Mean SNR: the port of what decides how strong a client's signal is before fading."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from cosim.configuration import Port, configuration
from cosim.links.uplink import Cell, Job
from cosim.simulation import Simulation


class MeanSnr(ABC):
    """The SNR of one client at one transmit power."""

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


class CellSnr(ABC):
    """The mean SNR of every client of a cell."""

    @abstractmethod
    def of(self, client: int, tx_power_w: float, job: Job) -> MeanSnr:
        """That of the client with this number in its cell."""


@configuration
class Propagation(Port, ABC):
    """How a client's mean SNR is found."""

    @abstractmethod
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        """Those of each cell, in their order."""
