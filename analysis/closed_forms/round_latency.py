"""Latency of HIST with orthogonal access: edge rounds and global rounds (HIST journal paper, eqs. 18 and 19).

Holds for fixed shares B / n_j, full participation, no deadline, channels that stay for the global round, and
a downlink and backhaul that take no time. Paper symbols: H steps, V_0 cycles per step of the whole model, L_0
bits of the whole model, p = |p_j|_1 / d the part that cell j trains, F_i frequency, R_i rate of client i.

Deviation: the rate of Section IV-A already has the client's share, R_i = (B / n_j) log2(1 + SNR_i |h_i|^2);
eq. 18 uses it so. Eq. 19 multiplies the time once more by n_j, which divides the band twice; here the global
round is E times eq. 18, maximum over the cells. The paper's log is taken to base 2, since R is in bit/s.
"""

from collections.abc import Sequence

import attrs
import numpy as np


@attrs.frozen(kw_only=True, eq=False)
class EdgeRoundLatency:
    """Eq. 18 for one cell.

    Attributes:
        num_steps: H.
        step_cycles: V_0.
        model_bits: L_0.
        fraction: p, the part of the whole model that the cell trains.
        bandwidth_hz: B.
        frequency_hz: F_i, shape (clients,).
        snr: SNR_i |h_i|^2 per client, linear, shape (clients,).
    """

    num_steps: int
    step_cycles: float
    model_bits: float
    fraction: float
    bandwidth_hz: float
    frequency_hz: np.ndarray
    snr: np.ndarray

    @property
    def rate_bps(self) -> np.ndarray:
        """R_i, shape (clients,)."""
        return self.bandwidth_hz / len(self.snr) * np.log2(1.0 + self.snr)

    @property
    def client_s(self) -> np.ndarray:
        """Computing and sending of each client, shape (clients,)."""
        computing_s = self.num_steps * self.fraction * self.step_cycles / self.frequency_hz
        return computing_s + self.fraction * self.model_bits / self.rate_bps

    @property
    def cell_s(self) -> float:
        """The slowest client."""
        return float(np.max(self.client_s))


def global_round_s(num_edge_rounds: int, cells: Sequence[EdgeRoundLatency]) -> float:
    """E edge rounds of the slowest cell: eq. 19 with the band divided once."""
    return num_edge_rounds * max(cell.cell_s for cell in cells)
