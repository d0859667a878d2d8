"""Link budget: a mean SNR from transmit power, path gain and noise.

Path gain (line of sight, environment height, shadowing: `large_scale`) is drawn once for each client, or for
the whole cell in every global or edge round.

Scope and limitations: gains of different rounds and clients are independent, even at one place. The draw of a
round depends on the seed, the cell and the round, and not on the order of calls.

Source: RawHFL paper, Sections II-A (large-scale fading dominates) and V-A (3GPP urban macro).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import between, knob, part, refuse
from cosim.jobs.job import Job
from cosim.links.port import Cell, WrongDistance
from cosim.radio.propagation.large_scale import LargeScale
from cosim.radio.propagation.noise import noise_density, noise_figure
from cosim.radio.propagation.pathloss import OutOfRange
from cosim.radio.propagation.port import CellSnr, Each, Of, Propagation
from cosim.radio.redrawn import Block, Redrawn
from cosim.units import THERMAL_NOISE_DBM_PER_HZ, db_to_linear, dbm_to_w

Gains = NDArray[np.float64]
_MEANT = {"distance_2d_m": "its distance", "distance_3d_m": "the distance of its antenna"}


@part
class LinkBudget(Propagation):
    """A mean SNR from transmit power, path gain and noise.

    Attributes:
        noise_dbm_per_hz: Noise density at the edge server. [no source: thermal noise at 290 K]
        noise_figure_db: Noise figure of the edge server. [no source]
        antenna_gain_db: Gains of the antennas of client and edge server together. [no source: isotropic; an
            element of TR 38.901, Table 7.3-1, has 8 dBi]
        large_scale: Path loss and shadowing.
        large_scale_redrawn: Blocks in which line of sight and shadowing are constant; None means that they
            never change. [no source]
    """

    noise_dbm_per_hz: float = knob(noise_density, default=THERMAL_NOISE_DBM_PER_HZ)
    noise_figure_db: float = knob(noise_figure, default=7.0)
    antenna_gain_db: float = knob(between(-100.0, 100.0), default=0.0)
    large_scale: LargeScale = LargeScale(environment="uma")
    large_scale_redrawn: Redrawn | None = None

    def __attrs_post_init__(self) -> None:
        redrawn = self.large_scale_redrawn
        if redrawn is not None and redrawn.form == "course":
            rule = "the path loss must not change during an upload"
            kind = type(redrawn).__name__
            raise refuse(
                "LinkBudget",
                "large_scale_redrawn",
                kind,
                rule,
                "Use EveryEdgeRound, or None to draw it once.",
            )

    @property
    def noise_w_per_hz(self) -> float:
        """Noise density at the receiver."""
        return dbm_to_w(self.noise_dbm_per_hz) * db_to_linear(self.noise_figure_db)

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellSnr]:
        for cell in cells:
            self._check_distances(cell)
        return [BudgetedCellSnr(self._gain_of(sim, cell), self.noise_w_per_hz) for cell in cells]

    def _check_distances(self, cell: Cell) -> None:
        try:
            self.large_scale.check(cell.distance_m)
        except OutOfRange as error:
            client, distance_m = cell.clients[error.which], cell.distance_m[error.which]
            raise WrongDistance(
                client,
                f"{client} is {distance_m:g} m from its edge server: in {self.large_scale.environment}, "
                f"{_MEANT[error.name]} {error.rule}. Use distances inside that range, or another "
                "environment.",
            ) from None

    def _gain_of(self, sim: Simulation, cell: Cell) -> Callable[[Job], Gains]:
        """Path gains of a cell's clients in a job, antennas included, shape (clients,)."""
        redrawn, numbers = self.large_scale_redrawn, Numbers.of(cell.clients)
        antennas = db_to_linear(self.antenna_gain_db)

        def drawn(block: Block) -> Gains:
            rows = sim.of_client(numbers, "large-scale", self.large_scale.rows, *block)
            return antennas * self.large_scale.drawn(cell.distance_m, rows).gain

        if redrawn is None:
            once = drawn(())
            return lambda job: once
        last: tuple[Block, Gains] | None = None

        def gain(job: Job) -> Gains:
            nonlocal last
            block = redrawn.of_job(job)
            if last is None or last[0] != block:
                last = block, drawn(block)
            return last[1]

        return gain


class BudgetedCellSnr(CellSnr):
    """Mean SNRs from received power and noise.

    Args:
        gain_of: Gives the path gains of the clients in a job, shape (clients,).
    """

    def __init__(self, gain_of: Callable[[Job], Gains], noise_w_per_hz: float) -> None:
        self._gain_of, self._noise_w_per_hz = gain_of, noise_w_per_hz

    @override
    def snr_in(self, clients: Of, tx_power_w: Each, factor: Each, bandwidth_hz: float, job: Job) -> Any:
        received_w = tx_power_w * self._gain_of(job)[clients] * factor
        return received_w / (self._noise_w_per_hz * bandwidth_hz)
