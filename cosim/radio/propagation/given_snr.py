"""Given SNR: a mean SNR that does not follow from anything, as in the HIST paper."""

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import between, configuration, field
from cosim.configuration.values import PerGroup, Values, each
from cosim.links.link import Cell, Job
from cosim.radio.propagation.mean_snr import CellSnr, Factors, MeanSnr, Propagation
from cosim.simulation import Simulation
from cosim.units import db_to_linear


@configuration
class GivenSnr(Propagation):
    """A mean SNR in any bandwidth, whatever the distance.

    Attributes:
        snr_db: SNR before fading of a client that sends at its highest power; at less power it is less. [HIST
            journal, Section VI-C]
    """

    snr_db: Values = field(each(between(-300.0, 300.0)), default=PerGroup(values=(30.0, 40.0)))

    @property
    def follows_power(self) -> bool:
        """It is given."""
        return False

    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        """Those of each cell."""
        levels_db = self.snr_db.of_clients([len(cell.clients) for cell in cells])
        return [_GivenCellSnr(cell, own) for cell, own in zip(cells, levels_db, strict=True)]


class _GivenCellSnr(CellSnr):
    def __init__(self, cell: Cell, levels_db: Sequence[float]) -> None:
        self._snr = np.array([db_to_linear(level_db) for level_db in levels_db])
        self._highest_w = cell.tx_power_w

    @property
    def is_flat(self) -> bool:
        return True

    def of(self, client: int, tx_power_w: float, job: Job) -> MeanSnr:
        return FlatSnr(snr=self._snr.item(client) * (tx_power_w / self._highest_w.item(client)))

    def of_all(
        self, tx_power_w: NDArray[np.float64], factor: Factors, bandwidth_hz: float, job: Job
    ) -> NDArray[np.float64]:
        return self._snr * (tx_power_w / self._highest_w) * factor


@attrs.frozen(kw_only=True)
class FlatSnr(MeanSnr):
    """A mean SNR that is the same in any bandwidth."""

    snr: float

    @property
    def is_flat(self) -> bool:
        """It is."""
        return True

    def snr_in(self, bandwidth_hz: float) -> float:
        """The SNR."""
        return self.snr

    def scaled(self, factor: float) -> "FlatSnr":
        """The same with a signal so many times as strong."""
        return FlatSnr(snr=self.snr * factor)
