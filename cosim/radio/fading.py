"""Fading: the variation around their mean of channels between clients and their edge server's antennas.

Asked: `redrawn`, when channels change, and for each block between two changes one of

- `vectors`: the channel of each client to each antenna, which the server combines;
- `gains`: the power gain of each client, if there are no phases;

or, if the channel of each client changes at times of its own, `course`. Vectors and gains are arrays over
clients, and a single client's value is its row.

Rayleigh, single antenna to M antennas: h ~ CN(0, I_M), constant within a block and independent from block
to block. The draw of a block depends on nothing but the seed, the client, the antenna and the block.

Scope and limitations: antennas and clients are uncorrelated, and so are blocks; without fading the gain
|h|^2 is 1.

Source: HIST journal paper, Sections IV-A and VI-C.
"""

import math
from abc import ABC
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers, draws_of_block
from cosim.clock.simulation import Simulation
from cosim.configuration import Port, at_least, knob, part
from cosim.configuration.forms import one_of
from cosim.radio.redrawn import Block, Blocks, EveryGlobalRound, GainCourse, Redrawn


@part
class Fading(Port, ABC):
    """Variation of channels around their mean."""

    forms = one_of(vectors=("vectors",), gains=("gains",), course=("course",))

    @property
    def redrawn(self) -> Blocks | None:
        """Blocks in which channels are constant; None means that they never change."""
        return None

    def vectors(self, sim: Simulation, clients: Sequence[str], block: Block) -> NDArray[Any]:
        """Channels of some clients in a block, complex, shape (clients, antennas), E|h_m|^2 = 1."""
        return np.sqrt(self.gains(sim, clients, block)).astype(np.complex128)[:, None]

    def gains(self, sim: Simulation, clients: Sequence[str], block: Block) -> NDArray[np.float64]:
        """Channel power gains |h|^2 of some clients in a block, shape (clients,).

        With vectors, these are the gains of a receiver that combines all antennas (maximum ratio).
        """
        return power(self.vectors(sim, clients, block))

    def course(self, sim: Simulation, client: str) -> GainCourse:
        """Gain of one client over time."""
        raise NotImplementedError

    @property
    def within_uploads(self) -> bool:
        """True if a channel may change while a client sends."""
        return self.form == "course" or (self.redrawn is not None and self.redrawn.form == "course")

    def check(self, clients: Sequence[str]) -> None:
        """Refuse the clients of all cells, before the clock starts.

        Raises:
            ConfigurationError: Some clients have no channel.
        """

    @property
    def finite_moments(self) -> float:
        """Number of finite moments of 1 over the gain of an upload (`cosim.system.heavy_tails`)."""
        return math.inf


def power(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Sum of |h|^2 over antennas, one after the other, so that a row has the same bits as if alone."""
    found = np.zeros(len(vectors))
    for h in vectors.T:
        found = found + (h.real * h.real + h.imag * h.imag)
    return found


@part
class NoFading(Fading):
    """Channels that are always at their mean, with one antenna."""

    @override
    def gains(self, sim: Simulation, clients: Sequence[str], block: Block) -> NDArray[np.float64]:
        return np.ones(len(clients))


@part
class Rayleigh(Fading):
    """Rayleigh fading at antennas whose signals the edge server combines.

    Attributes:
        num_antennas: Antennas of an edge server. [HIST journal, Section VI-C]
        redrawn: Blocks in which the channel is constant. [HIST journal, Section IV-A: every global round]
    """

    num_antennas: int = knob(at_least(1), default=10)
    redrawn: Redrawn = EveryGlobalRound()  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    @override
    def finite_moments(self) -> float:
        """One less than the number of antennas, if a deep fade lasts as long as the upload."""
        return math.inf if self.within_uploads else self.num_antennas - 1

    @override
    def vectors(self, sim: Simulation, clients: Sequence[str], block: Block) -> NDArray[Any]:
        """Independent normal numbers for each antenna, complex, shape (clients, antennas)."""
        own = Numbers.of(clients)

        def at(antenna: int) -> NDArray[np.complex128]:
            index = antenna, *block
            return own.rows(lambda number: draws_of_block(sim, own.kind, number, "fading", _gaussian, *index))

        return np.array([at(antenna) for antenna in range(self.num_antennas)]).T


def _gaussian(rng: np.random.Generator, num: int) -> NDArray[np.complex128]:
    """Circularly symmetric normal numbers of power 1."""
    return rng.standard_normal((num, 2)).view(np.complex128)[:, 0] / math.sqrt(2.0)
