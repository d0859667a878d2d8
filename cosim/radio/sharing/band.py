"""Band: the port of the ways in which the clients of a cell share its uplink band.

A kind of `Sharing` makes a `Band` for each cell, in which clients open uploads over their channels.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import HELPERS, Port, Shortcuts, configuration, stand_for
from cosim.links.payload import Payload
from cosim.links.upload import Upload, Uploads
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.simulation import Simulation

Vectors = NDArray[np.complex128]


class Rates(NamedTuple):
    """What the participants of an edge round can send, where their fading follows from the job.

    Attributes:
        in_hz: Bandwidth -> rate of each in it, shape (participants,).
        are_flat: Whether they are in proportion to it.
    """

    in_hz: Callable[[float], NDArray[np.float64]]
    are_flat: bool


class Band(Shortcuts, ABC):
    """The uplink band of one cell.

    Attributes:
        num_at_once: Clients that may send at the same time, while others wait; None: all.
        is_known: Whether `share_hz` and `upload_s` say beforehand what an upload will have.
    """

    shortcuts = stand_for(uploads=("open", HELPERS))
    num_at_once: int | None = None
    is_known: bool = True

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Take note of an edge round of so many clients that begins now and ends by then."""

    @abstractmethod
    def share_hz(self, num_clients: int) -> float:
        """What each of so many clients can count on in an edge round."""

    def upload_s(self, channel: Channel, payload: Payload, block: Block, num_clients: int) -> float:
        """How long an upload takes, once it is granted, in what each of so many clients can count on."""
        rate_bps = channel.rate_bps(self.share_hz(num_clients), block)
        return payload.bits / rate_bps if rate_bps else math.inf

    @abstractmethod
    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> Upload:
        """Begin an upload in a fading block, which may end before the upload; its rate may be 0."""

    def uploads(self, begins_s: NDArray[np.float64], payload: Payload, rates: "Rates") -> Uploads | None:
        """Uploads of the edge round that has begun, as `CellLink.uploads`; None: it is played by events."""
        return None

    def deviation_of_mean(self, vectors: Callable[[], Vectors]) -> Callable[[], float] | None:
        """Noise on the mean of what some clients have sent, as `CellLink.deviation_of_mean`.

        Args:
            vectors: Gives their channel vectors, each times the amplitude of its power over the noise, shape
                (clients, antennas).
        """
        return None


@configuration
class Sharing(Port, ABC):
    """How the clients of a cell share its uplink band."""

    @property
    def adds_up(self) -> bool:
        """Whether only the mean of what a cell's clients send arrives."""
        return False

    @property
    def needs_exact_channels(self) -> bool:
        """Whether channels must be known exactly and stay while an upload lasts."""
        return False

    @property
    def follows_gains(self) -> bool:
        """Whether an upload lasts the longer the weaker its channel is."""
        return True

    @abstractmethod
    def bands(self, sim: Simulation, num_cells: int) -> Sequence[Band]:
        """The band of each cell."""
