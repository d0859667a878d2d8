"""Band: the port of the rule by which the clients of a cell share its band.

A kind of `Sharing` makes a `Band` for each cell. A band has one form, from which both clocks follow:

| form | asked | uploads |
|---|---|---|
| steady | `steady_hz` | each has a bandwidth of its own until the edge round ends |
| together | `airtime_s` | all begin together and last the same, for any number of clients |
| machine | `machine` | they share the band by a machine without a clock (`cosim.links.machine`) |
| events | `open` | each is an `Upload` of the band's own; the system runs by events |

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
    """Frequency band of one cell, which its clients share.

    Attributes:
        num_at_once: Clients that may send at the same time, while others wait; None means all.
        is_known: True if `share_hz` and `upload_s` give an upload's bandwidth and duration beforehand.
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
        """Durations of granted uploads, in the bandwidth that each of `num_clients` can count on.

        They have shape (clients,), or are one number for all.

        Args:
            rates_bps: Bandwidth -> rate of each in it, shape (clients,).
        """
        if self.form == "together":
            return self.airtime_s(payload)
        with np.errstate(divide="ignore"):
            return payload.bits / rates_bps(self.share_hz(num_clients))

    def steady_hz(self, num_clients: int) -> float:
        """Bandwidth that each of `num_clients` participants of an edge round has until the round ends."""
        raise NotImplementedError

    def airtime_s(self, payload: Payload) -> float:
        """Duration of uploads that all participants of an edge round begin together.

        They begin when all are ready, or at the last moment from which they still end in time.
        """
        raise NotImplementedError

    def machine(self, senders: Senders) -> Machine:
        """Machine that the clients share, in its initial state; asked for each edge round on arrays."""
        raise NotImplementedError

    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> Upload:
        """Begin an upload in a fading block, which may end before the upload; its rate may be 0."""
        raise NotImplementedError

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Begin an edge round of `num_clients` now, which ends by `ends_s`."""

    def deviation_of_mean(self, vectors: Callable[[], Vectors]) -> Callable[[], float] | None:
        """Noise on the mean of some clients' updates, as `CellLink.deviation_of_mean`.

        Args:
            vectors: Gives their channel vectors, each times the amplitude of its power over the noise, shape
                (clients, antennas).
        """
        return None


@part
class Sharing(Port, ABC):
    """Rule by which the clients of a cell share its band.

    Attributes:
        needs_exact_channels: True if channels must be known exactly and be constant during an upload.
        follows_gains: True if an upload takes longer over a weaker channel.
    """

    needs_exact_channels: ClassVar[bool] = False
    follows_gains: ClassVar[bool] = True

    @abstractmethod
    def bands(self, sim: Simulation, num_cells: int) -> Sequence[Band]:
        """Band of each cell."""
