"""Block fading: the channel between one client and the antennas of its edge server.

Rayleigh, single antenna to M antennas: h ~ CN(0, I_M), constant within a block and independent from block
to block (`redrawn`). The draw of a block depends on nothing but the seed, the client, the antenna
and the block.

Scope and limitations: antennas and clients are uncorrelated, and so are blocks; without fading the gain
|h|^2 is 1.

Source: HIST journal paper, Sections IV-A and VI-C.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import HELPERS, Port, at_least, configuration, field, stand_for
from cosim.draws import Numbers
from cosim.links.link import Job
from cosim.radio.redrawn import Block, EveryGlobalRound, Redrawn, block_of
from cosim.simulation import Simulation

GainsByJob = Callable[[Job], NDArray[np.float64]]
"""Job -> power gains, shape (clients,)."""


class BlockFading(ABC):
    """One client's channel, block by block."""

    @abstractmethod
    def block(self, job: Job) -> Block:
        """The block that a job meets at this instant."""

    @abstractmethod
    def vector(self, block: Block) -> NDArray[np.complex128]:
        """Channel vector h, complex, shape (antennas,), E|h_m|^2 = 1."""

    @abstractmethod
    def gain(self, block: Block) -> float:
        """Channel power gain |h|^2 of a receiver that combines all antennas (maximum ratio)."""

    def end_s(self, block: Block) -> float:
        """When the channel changes by itself; infinity where it changes with the jobs."""
        return math.inf

    def after(self, block: Block) -> Block:
        """The block that follows one that has ended by itself."""
        return block


@configuration
class Fading(Port, ABC):
    """How channels vary around their mean."""

    shortcuts = stand_for(gains_by_job=("of", HELPERS))

    @property
    def within_uploads(self) -> bool:
        """Whether a channel may change while somebody sends."""
        return False

    def check(self, clients: Sequence[str]) -> None:
        """Refuse the clients of all cells, before the clock starts.

        Raises:
            ConfigurationError: Some of them have no channel.
        """

    @property
    def finite_moments(self) -> float:
        """Finite moments of 1 over the gain that an upload meets (`cosim.beforehand.heavy_tails`)."""
        return math.inf

    @property
    def num_antennas(self) -> int:
        """Antennas of an edge server."""
        return 1

    @abstractmethod
    def of(self, sim: Simulation, client: str) -> BlockFading:
        """The channel of one client."""

    def gains_by_job(self, sim: Simulation, clients: Sequence[str]) -> GainsByJob | None:
        """Gives the power gains that uploads of a job meet: those of the channels of `of`, to the last bit.

        None: they do not follow from the job, or nobody has written them down for arrays.
        """
        return None


@configuration
class NoFading(Fading):
    """Channels that stay at their mean, with one antenna."""

    def of(self, sim: Simulation, client: str) -> BlockFading:
        """A channel that stays."""
        return StillChannel()

    def gains_by_job(self, sim: Simulation, clients: Sequence[str]) -> GainsByJob:
        """Ones."""
        return lambda job: np.ones(len(clients))


@configuration
class Rayleigh(Fading):
    """Rayleigh fading at antennas whose signals the edge server combines.

    Attributes:
        num_antennas: Antennas of an edge server. [HIST journal, Section VI-C]
        redrawn: When the channel changes. [HIST journal, Section IV-A: every global round]
    """

    num_antennas: int = field(at_least(1), default=10)  # pyright: ignore[reportIncompatibleMethodOverride]
    redrawn: Redrawn = EveryGlobalRound()

    @property
    def within_uploads(self) -> bool:
        """Where its blocks may end so."""
        return self.redrawn.form == "course"

    @property
    def finite_moments(self) -> float:
        """One less than antennas, where a deep fade lasts as long as the upload."""
        return math.inf if self.within_uploads else self.num_antennas - 1

    def of(self, sim: Simulation, client: str) -> BlockFading:
        """The channel of one client."""
        return RayleighChannel(sim, client, self.num_antennas, self.redrawn)

    def gains_by_job(self, sim: Simulation, clients: Sequence[str]) -> GainsByJob | None:
        """Those of all antennas, where a job's number names the block."""
        if self.redrawn.form == "course":
            return None
        numbers, num_antennas = Numbers.of(clients), self.num_antennas
        return lambda job: sim.rows(numbers, _gains, num_antennas, *self.redrawn.of_job(job))


def _gains(
    sim: Simulation, kind: str, block: int, num_antennas: int, *fading_block: int
) -> NDArray[np.float64]:
    """Power gains of a block of clients, shape (clients,)."""
    antennas = range(num_antennas)
    return _power(sim.block(kind, block, "fading", _gaussian, antenna, *fading_block) for antenna in antennas)


def _gaussian(rng: np.random.Generator, num: int) -> NDArray[np.complex128]:
    """Circularly symmetric normal numbers of power 1."""
    parts = rng.standard_normal((num, 2))
    return (parts[:, 0] + 1j * parts[:, 1]) / math.sqrt(2.0)


class StillChannel(BlockFading):
    """The number 1."""

    def block(self, job: Job) -> Block:
        """The only one."""
        return ()

    def vector(self, block: Block) -> NDArray[np.complex128]:
        """The number 1, shape (1,)."""
        return np.ones(1, dtype=np.complex128)

    def gain(self, block: Block) -> float:
        """1."""
        return 1.0


class RayleighChannel(BlockFading):
    """One client's channel to several antennas."""

    def __init__(self, sim: Simulation, client: str, num_antennas: int, redrawn: Redrawn) -> None:
        self._sim, self._client = sim, client
        self._num_antennas, self._redrawn = num_antennas, redrawn
        self._last: tuple[Block, float] | None = None

    def block(self, job: Job) -> Block:
        """The block that a job meets at this instant."""
        return block_of(self._redrawn, job, self._sim.now_s)

    def end_s(self, block: Block) -> float:
        """When the block ends by itself."""
        return self._redrawn.end_s(block)

    def after(self, block: Block) -> Block:
        """The block that follows."""
        return self._redrawn.after(block)

    def vector(self, block: Block) -> NDArray[np.complex128]:
        """Channel vector h, complex, shape (antennas,), E|h_m|^2 = 1."""
        antennas = range(self._num_antennas)
        return np.array(
            [self._sim.of_client(self._client, "fading", _gaussian, antenna, *block) for antenna in antennas]
        )

    def gain(self, block: Block) -> float:
        """Channel power gain |h|^2 of a receiver that combines all antennas (maximum ratio)."""
        if self._last is None or self._last[0] != block:
            self._last = block, float(self._sim.row(self._client, _gains, self._num_antennas, *block))
        return self._last[1]


def _power(amplitudes: Iterable[Any]) -> Any:
    """Sum of |h|^2 over antennas, one after the other, of one client or many; the same bits for both."""
    return sum((h.real * h.real + h.imag * h.imag for h in amplitudes), 0.0)
