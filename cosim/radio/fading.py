"""Block fading: the channel between one client and the antennas of its edge server.

Rayleigh, single antenna to M antennas: h ~ CN(0, I_M), constant within a block and independent from block
to block. A block is a global round, an edge round, or a coherence time. The draw of a block depends on
nothing but the seed, the client and the block.

Scope and limitations: antennas and clients are uncorrelated, and so are blocks; without fading the gain
|h|^2 is 1, whatever the number of antennas.

Source: HIST journal paper, Sections IV-A and VI-C.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosim.simulation import Simulation

Redrawn = Literal["global-round", "edge-round", "coherence-time"]


class BlockFading:
    """One client's channel, block by block.

    Args:
        num_antennas: Antennas M of the edge server; 0 for no fading.
        redrawn: What a block is.
        coherence_time_s: Length of a block, where a block is a coherence time.
    """

    def __init__(
        self,
        sim: Simulation,
        client: str,
        num_antennas: int,
        redrawn: Redrawn,
        coherence_time_s: float | None,
    ) -> None:
        self._sim = sim
        self._client = client
        self._num_antennas = num_antennas
        self._redrawn = redrawn
        self._coherence_time_s = coherence_time_s if redrawn == "coherence-time" and num_antennas else None
        self._last: tuple[tuple[int, ...], float] = ((), 1.0)

    def block(self, global_round: int, edge_round: int) -> tuple[int, ...]:
        """The block of this round, or, by coherence time, of this instant."""
        if self._redrawn == "global-round":
            return (global_round,)
        if self._redrawn == "edge-round":
            return (global_round, edge_round)
        return (int(self._sim.now_s // self._coherence_time_s) if self._coherence_time_s else 0,)

    def block_end_s(self, block: tuple[int, ...]) -> float:
        """When the channel changes by itself; infinity where it changes with the rounds."""
        return (block[0] + 1) * self._coherence_time_s if self._coherence_time_s else math.inf

    def vector(self, block: tuple[int, ...]) -> NDArray[np.complex128]:
        """Channel vector h, complex, shape (antennas,), E|h_m|^2 = 1; without fading the number 1."""
        if not self._num_antennas:
            return np.ones(1, dtype=np.complex128)
        parts = self._sim.stream(self._client, "fading", *block).standard_normal((2, self._num_antennas))
        return (parts[0] + 1j * parts[1]) / math.sqrt(2.0)

    def gain(self, block: tuple[int, ...]) -> float:
        """Channel power gain |h|^2 of a receiver that combines all antennas (maximum ratio)."""
        if not self._num_antennas:
            return 1.0
        if self._last[0] != block:
            self._last = block, float(np.sum(np.abs(self.vector(block)) ** 2))
        return self._last[1]
