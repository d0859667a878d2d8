"""Ways: how clients send in a band, derived for both clocks from the form in which the band is written."""

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from cosim.links.carried import SteadyUpload, SteadyUploads
from cosim.links.machine import Machine
from cosim.links.on_arrays import MachineUploads
from cosim.links.on_clock import OnClock
from cosim.links.payload import Payload
from cosim.links.upload import Upload, Uploads
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.radio.sharing.band import Band
from cosim.radio.sharing.barrier import Barrier, SummedUploads
from cosim.radio.sharing.lanes import Lanes
from cosim.radio.sharing.senders import OneByOne, Senders, SendersOfRound
from cosim.simulation import Simulation


class Way(ABC):
    """How the clients of a cell send in its band."""

    def __init__(self, sim: Simulation, band: Band) -> None:
        self._sim, self._band = sim, band
        self._num_clients, self._ends_s = 1, math.inf

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Take note of an edge round of `num_clients` that begins now and ends by `ends_s`."""
        self._num_clients, self._ends_s = max(1, num_clients), ends_s

    @abstractmethod
    def open(self, number: int, channel: Channel, payload: Payload, block: Block) -> Upload:
        """Begin an upload of the client with this number in the cell, in a fading block."""

    @abstractmethod
    def uploads(
        self, begins_s: NDArray[np.float64], payload: Payload, senders: SendersOfRound
    ) -> Uploads | None:
        """Uploads of the edge round that has begun, shape (participants,); None: it is played by events."""


class MachineWay(Way):
    """By a machine of the band."""

    def __init__(self, sim: Simulation, band: Band) -> None:
        super().__init__(sim, band)
        self._senders = OneByOne()
        self._machine = self._of(self._senders)
        self._on_clock = OnClock(sim, self._machine)

    def _of(self, senders: Senders) -> Machine:
        return self._band.machine(senders)

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        super().begin_round(num_clients, ends_s)
        self._machine.begin_round(num_clients, ends_s)

    def open(self, number: int, channel: Channel, payload: Payload, block: Block) -> Upload:
        self._senders.add(number, payload.bits, channel, block)
        return self._on_clock.open(number, payload.bits)

    def uploads(self, begins_s: NDArray[np.float64], payload: Payload, senders: SendersOfRound) -> Uploads:
        ends_s = self._ends_s  # the round's; bits that are left may be asked for in a later one

        def make() -> Machine:
            machine = self._of(senders.make())
            machine.begin_round(len(begins_s), ends_s)
            return machine

        return MachineUploads(make, begins_s, payload.bits, ends_s)


class SteadyWay(MachineWay):
    """Each in a bandwidth of its own: at one rate, or by a lane where its channel changes meanwhile."""

    def _of(self, senders: Senders) -> Machine:
        return Lanes(self._band.steady_hz, None, senders)

    def _width_hz(self) -> float:
        return self._band.steady_hz(self._num_clients)

    def open(self, number: int, channel: Channel, payload: Payload, block: Block) -> Upload:
        if channel.block_end_s(block) < math.inf:
            return super().open(number, channel, payload, block)
        return SteadyUpload(self._sim, payload.bits, channel.rate_bps(self._width_hz(), block))

    def uploads(self, begins_s: NDArray[np.float64], payload: Payload, senders: SendersOfRound) -> Uploads:
        if senders.rates_bps is None:
            return super().uploads(begins_s, payload, senders)
        return SteadyUploads(begins_s, int(payload.bits), senders.rates_bps(self._width_hz()))


class TogetherWay(Way):
    """All at once, from when a barrier opens."""

    def __init__(self, sim: Simulation, band: Band) -> None:
        super().__init__(sim, band)
        self._barrier = Barrier(sim, 0, math.inf)

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        self._barrier = Barrier(self._sim, num_clients, ends_s)

    def open(self, number: int, channel: Channel, payload: Payload, block: Block) -> Upload:
        return self._barrier.join(number, payload.bits, self._band.airtime_s(payload))

    def uploads(
        self, begins_s: NDArray[np.float64], payload: Payload, senders: SendersOfRound
    ) -> Uploads | None:
        return SummedUploads(begins_s, payload.bits, self._barrier.opens_s, self._band.airtime_s(payload))


class EventsWay(Way):
    """By the band's own uploads."""

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        self._band.begin_round(num_clients, ends_s)

    def open(self, number: int, channel: Channel, payload: Payload, block: Block) -> Upload:
        return self._band.open(channel.client, channel, payload, block)

    def uploads(
        self, begins_s: NDArray[np.float64], payload: Payload, senders: SendersOfRound
    ) -> Uploads | None:
        return None


_WAYS: dict[str | None, type[Way]] = {
    "steady": SteadyWay,
    "together": TogetherWay,
    "machine": MachineWay,
    "events": EventsWay,
}


def way_of(sim: Simulation, band: Band) -> Way:
    """How clients send in a band, by its form."""
    return _WAYS[band.form](sim, band)
