"""Fading of a run: the channels of its clients, kept by block, and one client's as it goes on.

A fading is asked for as many clients at a time as draw together (`cosim.draws.BLOCK`), whatever cells they
are in, and a client's value is its row.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.draws import BLOCK, Draws, Numbers
from cosim.links.link import Cell, Job
from cosim.names import ClientNames, by_number
from cosim.radio.fading import Fading
from cosim.radio.redrawn import Block, Blocks, block_of
from cosim.simulation import Simulation

KEPT = 64
"""Blocks of vectors that are kept. [no source]"""


@attrs.frozen(kw_only=True)
class ClientFading:
    """One client's channel, block by block.

    Attributes:
        gain: Block -> power gain |h|^2 of a receiver that combines all antennas.
    """

    sim: Simulation
    blocks: Blocks | None
    gain: Callable[[Block], float]

    def block(self, job: Job) -> Block:
        """The block that a job meets at this instant."""
        return () if self.blocks is None else block_of(self.blocks, job, self.sim.now_s)

    def end_s(self, block: Block) -> float:
        """When the channel changes by itself; infinity where it does not."""
        return np.inf if self.blocks is None else self.blocks.end_s(block)

    def after(self, block: Block) -> Block:
        """The block that follows one that has ended by itself."""
        return block if self.blocks is None else self.blocks.after(block)


class FadingOfRun:
    """The channels of all clients of a run.

    Attributes:
        follows_jobs: True if the block of a job follows from the job alone.
    """

    def __init__(self, sim: Simulation, fading: Fading, cells: Sequence[Cell]) -> None:
        self._sim, self._fading = sim, fading
        self._blocks, self._names = fading.redrawn, _by_block(cells)
        self._of_client: dict[str, ClientFading] = {}
        self._kept_vectors = lru_cache(maxsize=KEPT)(self._vectors_of)
        self.follows_jobs = not fading.within_uploads

    @property
    def kind(self) -> str:
        """The name of its class, for messages."""
        return type(self._fading).__name__

    def of(self, client: str) -> ClientFading:
        """The channel of a client."""
        found = self._of_client.get(client)
        if found is None:
            found = self._of_client[client] = self._made(client)
        return found

    def _made(self, client: str) -> ClientFading:
        if self._fading.form == "course":
            course = self._fading.course(self._sim, client)
            return ClientFading(sim=self._sim, blocks=course, gain=course.gain)
        sim, gains_of = self._sim, self._gains_of
        last: tuple[Block, float] | None = None

        def gain(block: Block) -> float:
            nonlocal last
            if last is None or last[0] != block:
                last = block, float(sim.row(client, gains_of, *block))
            return last[1]

        return ClientFading(sim=sim, blocks=self._blocks, gain=gain)

    def gains(self, clients: Numbers, job: Job) -> NDArray[np.float64]:
        """Power gains that a job of some clients meets at this instant, shape (clients,)."""
        if self._fading.form == "course":
            each = map(self.of, clients)
            return np.array([own.gain(own.block(job)) for own in each])
        return self._sim.rows(clients, self._gains_of, *self._block(job))

    def vectors(self, clients: Numbers, job: Job) -> NDArray[Any]:
        """Channels that a job of some clients meets at this instant, complex, shape (clients, antennas)."""
        if self._fading.form == "course":
            return np.sqrt(self.gains(clients, job)).astype(np.complex128)[:, None]
        block = self._block(job)
        found = [self._kept_vectors(clients.kind, number, block) for number in clients.blocks]
        return np.concatenate(found)[clients.places]

    def _block(self, job: Job) -> Block:
        return () if self._blocks is None else block_of(self._blocks, job, self._sim.now_s)

    def _gains_of(self, sim: Draws, kind: str, number: int, *block: int) -> NDArray[np.float64]:
        names, found = self._names[kind, number], np.full(BLOCK, np.nan)
        found[names.places] = self._checked("gains", self._fading.gains(self._sim, names, block), names)
        return found

    def _vectors_of(self, kind: str, number: int, block: Block) -> NDArray[Any]:
        names = self._names[kind, number]
        own = self._checked("vectors", self._fading.vectors(self._sim, names, block), names)
        found = np.full((BLOCK, *own.shape[1:]), np.nan, dtype=np.complex128)
        found[names.places] = own
        return found

    def _checked(self, method: str, found: Any, names: Numbers) -> NDArray[Any]:
        """Numbers of as many clients as were asked for."""
        if np.ndim(found) != (2 if method == "vectors" else 1) or len(found) != len(names):
            wanted = "(clients, antennas)" if method == "vectors" else "(clients,)"
            raise ConfigurationError(
                f"{self.kind}.{method} gives shape {np.shape(found)} for {len(names)} clients: must be "
                f"{wanted}. Usual fix: a row for each of clients."
            )
        return found


def _by_block(cells: Sequence[Cell]) -> dict[tuple[str, int], Numbers]:
    """Kind and number of a block of clients -> those of them that a run has."""
    clients = [cell.clients for cell in cells]
    if all(isinstance(own, ClientNames) for own in clients):
        num = max(own.first + own.num for own in clients)  # type: ignore[attr-defined]
        return {
            ("client", first // BLOCK): Numbers.of(ClientNames(first, min(BLOCK, num - first)))
            for first in range(0, num, BLOCK)
        }
    found = defaultdict(list)
    for name in sorted((name for own in clients for name in own), key=by_number):
        kind, number = by_number(name)
        found[kind, number // BLOCK].append(name)
    return {of: Numbers.of(tuple(names)) for of, names in found.items()}
