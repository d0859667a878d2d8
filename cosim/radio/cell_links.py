"""Cell links: the mean SNR of every client of one cell, round by round, and what a planner knows of it.

A link's SNR is given, or follows from a budget: path gain and noise. Path gain (line of sight, environment
height, shadowing) is drawn once per client, or for the whole cell anew in every global or edge round. A
planner knows the gain, but what is sent meets another one: the known gain times 10^(X / 10), X normal with
the spread `csi_error_db`, redrawn every edge round; and with the probability of an outage nothing gets
through.

Scope and limitations: gains of different rounds and clients are independent, also those of one place. The
draw of a round depends on the seed, the cell and the round, so it does not matter who asks when.

Source: RawHFL paper, Sections II-A (large-scale fading dominates) and V-A (3GPP urban macro). The error and
the outage are ours.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosim.radio.large_scale import LargeScale
from cosim.radio.link import Budget, GivenSnr
from cosim.simulation import Simulation

Redrawn = Literal["never", "global-round", "edge-round"]


class CellLinks:
    """The links of one cell's clients.

    Args:
        edge: Name of the cell's edge server.
        mean_snr: SNR at the nominal power, linear, shape (clients,); None: by budget.
        nominal_w: Transmit power at which the SNR is given.
        gain_of_round: Path gains, shape (clients,), of a (global round, edge round); None: SNR is given.
        noise_w_per_hz: Noise density at the edge server.
        csi_error_db: Spread of the difference between the known gain and the real one.
        outage_probability: How often nothing of an upload gets through.
    """

    def __init__(
        self,
        sim: Simulation,
        edge: str,
        *,
        mean_snr: NDArray[np.float64],
        nominal_w: float,
        gain_of_round: Callable[[int, int], NDArray[np.float64]] | None,
        noise_w_per_hz: float,
        csi_error_db: float,
        outage_probability: float,
    ) -> None:
        self._sim = sim
        self._edge = edge
        self._mean_snr = mean_snr
        self._nominal_w = nominal_w
        self._gain_of_round = gain_of_round
        self._noise_w_per_hz = noise_w_per_hz
        self._csi_error_db = csi_error_db
        self._outage_probability = outage_probability
        self._last_factors: tuple[tuple[int, int], NDArray[np.float64]] | None = None

    def known(self, client: int, tx_power_w: float, global_round: int, edge_round: int) -> GivenSnr | Budget:
        """The link as a planner knows it, of the client with this number in its cell."""
        return self._link(client, tx_power_w, global_round, edge_round, 1.0)

    def real(self, client: int, tx_power_w: float, global_round: int, edge_round: int) -> GivenSnr | Budget:
        """The link that an upload meets."""
        factor = 1.0
        if self._csi_error_db or self._outage_probability:
            factor = float(self._factors(global_round, edge_round)[client])
        return self._link(client, tx_power_w, global_round, edge_round, factor)

    def _link(
        self, client: int, tx_power_w: float, global_round: int, edge_round: int, factor: float
    ) -> GivenSnr | Budget:
        if self._gain_of_round is None:
            return GivenSnr(snr=float(self._mean_snr[client]) * (tx_power_w / self._nominal_w) * factor)
        gain = float(self._gain_of_round(global_round, edge_round)[client])
        return Budget(received_w=tx_power_w * gain * factor, noise_w_per_hz=self._noise_w_per_hz)

    def _factors(self, global_round: int, edge_round: int) -> NDArray[np.float64]:
        """Real over known gain of every client in an edge round."""
        block = (global_round, edge_round)
        if self._last_factors is None or self._last_factors[0] != block:
            num_clients = len(self._mean_snr)
            error_db = self._sim.stream(self._edge, "csi error", *block).standard_normal(num_clients)
            is_up = (
                self._sim.stream(self._edge, "outage", *block).random(num_clients) >= self._outage_probability
            )
            factors = 10.0 ** (self._csi_error_db * error_db / 10.0) * is_up
            self._last_factors = block, factors
        return self._last_factors[1]


def gain_of_round(
    sim: Simulation,
    edge: str,
    clients: Sequence[str],
    distance_m: NDArray[np.float64],
    large_scale: LargeScale,
    redrawn: Redrawn,
) -> Callable[[int, int], NDArray[np.float64]]:
    """Path gains of a cell's clients by round, shape (clients,).

    Drawn once, they are drawn client by client; redrawn, for the cell as a whole.
    """
    if redrawn == "never":
        once = np.array(
            [
                large_scale.draw(distance_m[[i]], sim.stream(name, "large-scale")).gain[0]
                for i, name in enumerate(clients)
            ]
        )
        return lambda global_round, edge_round: once
    last: tuple[tuple[int, ...], NDArray[np.float64]] = ((), np.empty(0))

    def gain(global_round: int, edge_round: int) -> NDArray[np.float64]:
        nonlocal last
        block = (global_round, edge_round) if redrawn == "edge-round" else (global_round,)
        if last[0] != block:
            last = block, large_scale.draw(distance_m, sim.stream(edge, "large-scale", *block)).gain
        return last[1]

    return gain
