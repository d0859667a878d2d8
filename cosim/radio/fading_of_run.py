"""Fading of a run: the channels of its clients, kept by block, and of one client over time.

A fading is asked for the clients that draw together (`cosim.clock.draws.BLOCK`), of any cells, and a client's
value is its row.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import BLOCK, BlockRows, Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.jobs.job import Job
from cosim.links.port import Cell
from cosim.names import ClientNames, by_number
from cosim.radio.fading import Fading
from cosim.radio.redrawn import Block, Blocks, Unchanging, block_of

KEPT = 64
"""Number of blocks of vectors that are kept. [no source]"""


class ClientFading:
    """Channel of one client, block by block.

    Args:
        gain: Block -> power gain |h|^2 of a receiver that combines all antennas.

    Attributes:
        end_s: Block -> instant at which the channel changes by itself; infinite if it does not.
        after: Block -> the block that follows when it has ended by itself.
    """

    __slots__ = ("_at", "_of_job", "_sim", "after", "end_s", "gain")

    def __init__(self, sim: Simulation, blocks: Blocks, gain: Callable[[Block], float]) -> None:
        self._sim, self.gain, self.end_s, self.after = sim, gain, blocks.end_s, blocks.after
        self._of_job, self._at = (None, blocks.at) if blocks.form == "course" else (blocks.of_job, None)

    def block(self, job: Job) -> Block:
        """Block of a job at this instant."""
        return self._of_job(job) if self._at is None else self._at(self._sim.now_s)  # type: ignore[misc]

    def block_at(self, job: Job, time_s: float) -> Block:
        """Block of a job at a given instant."""
        return self._of_job(job) if self._at is None else self._at(time_s)  # type: ignore[misc]


class FadingOfRun:
    """Channels of all clients of a run.

    Attributes:
        follows_jobs: True if the block of a job follows from the job alone.
    """

    def __init__(self, sim: Simulation, fading: Fading, cells: Sequence[Cell]) -> None:
        names = _names_of(cells)
        fading.check(names)
        self._sim, self._fading = sim, fading
        self._blocks, self._names = fading.redrawn or Unchanging(), _by_block(names)
        self._last: dict[tuple[str, int], tuple[Block, NDArray[np.float64]]] = {}
        self._last_of: dict[Numbers, tuple[Block, NDArray[np.float64]]] = {}
        self._of_client: dict[str, ClientFading] = {}
        self._gains, self._vectors = BlockRows(self._gains_of), BlockRows(self._vectors_of, KEPT)
        self.follows_jobs = not fading.within_uploads

    @property
    def kind(self) -> str:
        """Name of the fading's class, for messages."""
        return type(self._fading).__name__

    def of(self, client: str) -> ClientFading:
        """Channel of a client."""
        found = self._of_client.get(client)
        if found is None:
            found = self._of_client[client] = self._made(client)
        return found

    def _made(self, client: str) -> ClientFading:
        if self._fading.form == "course":
            course = self._fading.course(self._sim, client)
            return ClientFading(self._sim, course, course.gain)
        (kind, number), last = by_number(client), self._last
        of = kind, number // BLOCK
        names = self._names[of]
        place = int(np.searchsorted(names.numbers, number))

        def gain(block: Block) -> float:
            own = last.get(of)
            if own is None or own[0] != block:
                own = last[of] = block, self._gains.of(names, *block)
            return own[1].item(place)

        return ClientFading(self._sim, self._blocks, gain)

    def gains(self, clients: Numbers, job: Job) -> NDArray[np.float64]:
        """Power gains of some clients in a job at this instant, shape (clients,).

        Args:
            clients: All of a cell, whose gains are kept until another block.
        """
        if self._fading.form == "course":
            each = map(self.of, clients)
            return np.array([own.gain(own.block(job)) for own in each])
        block, last = self._block(job), self._last_of.get(clients)
        if last is None or last[0] != block:
            last = self._last_of[clients] = block, self._gains.of(clients, *block)
        return last[1]

    def vectors(self, clients: Numbers, job: Job) -> NDArray[Any]:
        """Channels of some clients in a job at this instant, complex, shape (clients, antennas)."""
        if self._fading.form == "course":
            return np.sqrt(self.gains(clients, job)).astype(np.complex128)[:, None]
        return self._vectors.of(clients, *self._block(job))

    def _block(self, job: Job) -> Block:
        return block_of(self._blocks, job, self._sim.now_s)

    def _gains_of(self, kind: str, number: int, *block: int) -> NDArray[np.float64]:
        names = self._names[kind, number]
        own = self._checked("gains", self._fading.gains(self._sim, names, block), names)
        if len(own) == BLOCK:
            return np.array(own, dtype=float)
        found = np.full(BLOCK, np.nan)
        found[names.places] = own
        return found

    def _vectors_of(self, kind: str, number: int, *block: int) -> NDArray[Any]:
        names = self._names[kind, number]
        own = self._checked("vectors", self._fading.vectors(self._sim, names, block), names)
        found = np.full((BLOCK, *own.shape[1:]), np.nan, dtype=np.complex128)
        found[names.places] = own
        return found

    def _checked(self, method: str, found: Any, names: Numbers) -> NDArray[Any]:
        """Numbers, checked to be one for each client."""
        if np.ndim(found) != (2 if method == "vectors" else 1) or len(found) != len(names):
            wanted = "(clients, antennas)" if method == "vectors" else "(clients,)"
            raise ConfigurationError(
                f"{self.kind}.{method} gives shape {np.shape(found)} for {len(names)} clients: must be "
                f"{wanted}. Return a row for each client."
            )
        return found


def _names_of(cells: Sequence[Cell]) -> Sequence[str]:
    """Names of all clients by their numbers; names of consecutive numbers are made when they are read."""
    clients = [own.names if isinstance(own := cell.clients, Numbers) else own for cell in cells]
    if all(isinstance(own, ClientNames) for own in clients):
        spans = sorted((own.first, own.first + own.num) for own in clients)  # type: ignore[attr-defined]
        if all(end == first for (_, end), (first, _) in pairwise(spans)):
            return ClientNames(spans[0][0], spans[-1][1] - spans[0][0])
    return sorted((name for own in clients for name in own), key=by_number)


def _by_block(names: Sequence[str]) -> dict[tuple[str, int], Numbers]:
    """Kind and number of a block of clients -> the clients of it that a run has."""
    if isinstance(names, ClientNames):
        first, end = names.first, names.first + names.num
        starts = [first, *range(first // BLOCK * BLOCK + BLOCK, end, BLOCK)]
        return {
            ("client", start // BLOCK): Numbers.of(ClientNames(start, stop - start))
            for start, stop in pairwise([*starts, end])
        }
    found = defaultdict(list)
    for name in names:
        kind, number = by_number(name)
        found[kind, number // BLOCK].append(name)
    return {of: Numbers.of(tuple(own)) for of, own in found.items()}
