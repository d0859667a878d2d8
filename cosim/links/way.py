"""Way: a link of a cell on both clocks; each form of a link has its own (`cosim.engine.ways`)."""

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.jobs.job import Job, Places
from cosim.jobs.payload import Payload
from cosim.links.port import Cell, CellLink, InRound, Sender
from cosim.links.upload import Upload, Uploads
from cosim.records.rows import quick_row


class Way(ABC):
    """Link of a cell's clients, for sending or receiving.

    Args:
        link: The cell's link in one direction.
        cell: Its clients.
        tx_power_w: Their transmit powers, shape (clients,); None means that they receive.
    """

    def __init__(
        self, sim: Simulation, link: CellLink, cell: Cell, tx_power_w: NDArray[np.float64] | None
    ) -> None:
        self.link, self._ones = link, dict[int, Numbers]()
        self._sim, self._clients, self._tx_power_w = sim, cell.clients, tx_power_w

    def begin_round(self, num_clients: int, ends_s: float = math.inf, places: Places | None = None) -> None:
        """Begin an edge round of `num_clients` now, which ends by `ends_s`.

        Args:
            places: Places of the participants among the clients of the cell, ascending; None means any
                `num_clients` at a time, for protocols without edge rounds.
        """
        self.link.begin_round(num_clients, ends_s)

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> Upload:
        """Begin an upload at this instant.

        Args:
            tx_power_w: Transmit power; None means the highest, or that the client receives.
        """
        place = self._place_of[client]
        if tx_power_w is None and self._tx_power_w is not None:
            tx_power_w = self._tx_power_w.item(place)
        sender = quick_row(Sender, (client, place, payload, job, tx_power_w, self._sim.now_s))
        return self._open(sender)

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> Uploads | None:
        """Uploads of the edge round that has begun, as arrays.

        They equal the uploads from `open` to the last bit. None means that this round runs by events.

        Args:
            places: Places of the participants among the clients of the cell, ascending.
            begins_s: Instant at which each would open its upload, shape (participants,), none before now.
            tx_power_w: Transmit power of each, shape (participants,); None means the highest, or that they
                receive.
        """
        if tx_power_w is None:
            tx_power_w = self._powers_w(places)
        return self._uploads(InRound(places, begins_s, payload, job, tx_power_w))

    @abstractmethod
    def _open(self, sender: Sender) -> Upload:
        """Begin an upload at this instant."""

    @abstractmethod
    def _uploads(self, of: InRound) -> Uploads | None:
        """Uploads of the edge round that has begun; None means that it runs by events."""

    def _powers_w(self, places: Places) -> NDArray[np.float64] | None:
        return None if self._tx_power_w is None else self._tx_power_w[places]

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {client: place for place, client in enumerate(self._clients)}

    @cached_property
    def _all(self) -> Numbers:
        return Numbers.of(self._clients)

    def _one(self, place: int) -> Numbers:
        found = self._ones.get(place)
        if found is None:
            found = self._ones[place] = Numbers.of((self._clients[place],))
        return found

    def _some(self, places: Places) -> Numbers:
        return self._all if isinstance(places, slice) else self._all.some(places)
