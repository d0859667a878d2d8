"""Band: the port of how the clients of a cell share its band.

A kind of `Sharing` makes a `Band` for each cell. A band has one form, from which both clocks follow:

| form | asked | uploads |
|---|---|---|
| steady | `steady_hz` | each has a bandwidth of its own until the edge round ends |
| together | `airtime_s` | all begin together and last the same, however many they are |
| machine | `machine` | they share as a machine without a clock says (`cosim.links.machine`) |
| events | `open` | each is an `Upload` of the band's own; the system is played by events |

Usage::

    class Narrow(Band):
        def steady_hz(self, num_clients):
            return 1e4
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.configuration import Forms, Port, one_of, part
from cosim.jobs.payload import Payload
from cosim.links.machine import Machine
from cosim.links.upload import Upload
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.radio.sharing.senders import Senders

Vectors = NDArray[np.complex128]


class Band(Forms):
    """The band of one cell.

    Attributes:
        num_at_once: Clients that may send at the same time, while others wait; None: all.
        is_known: True if `share_hz` and `upload_s` say beforehand what an upload will have.
    """

    forms = one_of(steady=("steady_hz",), together=("airtime_s",), machine=("machine",), events=("open",))
    num_at_once: int | None = None
    is_known: bool = True

    def share_hz(self, num_clients: int) -> float:
        """Bandwidth that each of `num_clients` can count on in an edge round."""
        return self.steady_hz(num_clients)

    def upload_s(
        self, rates_bps: Callable[[float], NDArray[np.float64]], payload: Payload, num_clients: int
    ) -> float | NDArray[np.float64]:
        """How long uploads take, once they are granted, in what each of `num_clients` can count on.

        Shape (clients,), or a number for all.

        Args:
            rates_bps: Bandwidth -> rate of each in it, shape (clients,).
        """
        if self.form == "together":
            return self.airtime_s(payload)
        with np.errstate(divide="ignore"):
            return payload.bits / rates_bps(self.share_hz(num_clients))

    def steady_hz(self, num_clients: int) -> float:
        """Bandwidth that each of so many participants of an edge round has until the round ends."""
        raise NotImplementedError

    def airtime_s(self, payload: Payload) -> float:
        """How long uploads last that all participants of an edge round begin together.

        They begin when all are there, or at the last moment from which they still end in time.
        """
        raise NotImplementedError

    def machine(self, senders: Senders) -> Machine:
        """What the clients share, as long as it is not used; asked for each edge round on arrays."""
        raise NotImplementedError

    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> Upload:
        """Begin an upload in a fading block, which may end before the upload; its rate may be 0."""
        raise NotImplementedError

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Take note of an edge round of `num_clients` that begins now and ends by `ends_s`."""

    def deviation_of_mean(self, vectors: Callable[[], Vectors]) -> Callable[[], float] | None:
        """Noise on the mean of what some clients have sent, as `CellLink.deviation_of_mean`.

        Args:
            vectors: Gives their channel vectors, each times the amplitude of its power over the noise, shape
                (clients, antennas).
        """
        return None


@part
class Sharing(Port, ABC):
    """How the clients of a cell share its band.

    Attributes:
        needs_exact_channels: True if channels must be known exactly and stay while an upload lasts.
        follows_gains: True if an upload lasts the longer the weaker its channel is.
    """

    needs_exact_channels: ClassVar[bool] = False
    follows_gains: ClassVar[bool] = True

    @abstractmethod
    def bands(self, sim: Simulation, num_cells: int) -> Sequence[Band]:
        """The band of each cell."""
