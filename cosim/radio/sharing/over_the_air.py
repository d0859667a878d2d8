"""Over-the-air sum: all clients of a cell that are ready send at once, and the antennas receive their sum.

Each parameter is one analog symbol on one subcarrier, so an upload takes size / (B / delta_f) symbols (eq.
37), however many clients send. They begin together: who has finished training waits at a barrier until all
participants of the edge round are there, or, where the round has a deadline, until the last moment from
which the sum still ends in time. Who comes later is left out of the sum, and the deadline drops it.

Scope and limitations: clients and server know the channels, are synchronised to the symbol and invert
amplitude and phase exactly (eq. 24), so an error of channel knowledge or an outage cannot be combined with
it. The channel stays for the whole sum. A client's power is spread evenly over the subcarriers of the band,
so that by a link budget the SNR of each is that of the whole band. An upload draws the client's transmit
power, whatever amplitude its channel asks for. Bits are counted as if the parameters were sent digitally.
There is no interference between cells. What the server receives: `reception`.

Records written: a span "wait" at the barrier, and "send".

Source: HIST journal paper, Section V.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import configuration, field, positive
from cosim.instants import instant_after
from cosim.links.payload import Payload
from cosim.links.upload import Upload, Uploads
from cosim.names import by_number
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block
from cosim.radio.sharing.band import Band, Rates, Sharing, Vectors
from cosim.radio.sharing.reception import Reception
from cosim.simulation import Event, Simulation


@configuration
class OverTheAir(Sharing):
    """Over-the-air computation: all send at once, and the edge server receives the mean, with noise.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
        subcarrier_hz: Bandwidth of a sub-channel, delta_f. [HIST journal, Section V-E]
        symbol_s: Duration of a symbol, t_s. [HIST journal, Section V-E]
        transmit_power: As printed, eqs. 24 and 25 leave each client at most the n-th part of its amplitude,
            n the clients in the sum; full: the weakest sends at its full power, and the noise has the n^2-th
            part of its variance. [HIST journal, eq. 25: as printed]
        noise: Literal: sigma_0^2 is the variance of a real number; real-part: of a complex one, half of it in
            the real part that counts. [HIST journal, eq. 25: literal]
    """

    bandwidth_hz: float = field(positive, default=20e6)
    subcarrier_hz: float = field(positive, default=15e3)
    symbol_s: float = field(positive, default=1e-3 / 14.0)
    transmit_power: Literal["as-printed", "full"] = "as-printed"
    noise: Literal["literal", "real-part"] = "literal"

    @property
    def adds_up(self) -> bool:
        """The mean is all that arrives."""
        return True

    @property
    def needs_exact_channels(self) -> bool:
        """Clients invert their channels."""
        return True

    @property
    def follows_gains(self) -> bool:
        """A sum lasts as long over any channels."""
        return False

    @property
    def symbols_per_s(self) -> float:
        """Symbols on all subcarriers of the band together."""
        return self.bandwidth_hz / self.subcarrier_hz / self.symbol_s

    def noise_factor(self, num_clients: int) -> float:
        """What the two choices make of the variance of eq. 25."""
        power = 1.0 if self.transmit_power == "as-printed" else float(num_clients) ** 2
        return (1.0 if self.noise == "literal" else 0.5) / power

    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[BandOfSums]":
        """The band of each cell; beams of all cells are formed together."""
        receptions: WeakSet[Reception] = WeakSet()
        return [BandOfSums(sim, self, receptions) for _ in range(num_cells)]


class AirUpload(Upload):
    """One client's part in a sum."""

    def __init__(self, client: str, bits: float, sum_of_round: "_Sum", sim: Simulation) -> None:
        self.client = client
        self.granted: Event | None = sim.event()
        self.done: Event = sim.event()
        self._bits, self._share_left = float(bits), 1.0
        self._sum = sum_of_round

    @property
    def bits_left(self) -> float:
        """Bits that were left at the end, as if they had been sent digitally."""
        return self._bits * self._share_left

    def close(self) -> None:
        """Leave, also before the barrier opens or the sum is over."""
        self._sum.leave(self)

    def begin(self) -> None:
        """Open the barrier."""
        assert self.granted is not None
        self.granted.succeed()

    def cut(self, share_left: float) -> None:
        """Note how much of it was not sent."""
        self._share_left = share_left


class BandOfSums(Band):
    """The uplink band of one cell, in which its clients' updates add up.

    Args:
        receptions: Sums over the air that nobody has asked for yet, of all cells.
    """

    def __init__(self, sim: Simulation, settings: OverTheAir, receptions: WeakSet[Reception]) -> None:
        self._sim, self._settings, self._receptions = sim, settings, receptions
        self._sum = _Sum(sim, 0, math.inf)

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Expect so many clients at the barrier of an edge round that begins now and ends by then."""
        self._sum = _Sum(self._sim, num_clients, ends_s)

    def share_hz(self, num_clients: int) -> float:
        """The whole band, whoever else sends."""
        return self._settings.bandwidth_hz

    def upload_s(self, channel: Channel, payload: Payload, block: Block, num_clients: int) -> float:
        """How long a sum lasts (eq. 37): a symbol for each value, whatever the channels."""
        return self._airtime_s(payload)

    def _airtime_s(self, payload: Payload) -> float:
        return payload.num_values / self._settings.symbols_per_s

    def open(self, client: str, channel: Channel, payload: Payload, block: Block) -> AirUpload:
        """Come to the barrier."""
        upload = AirUpload(client, payload.bits, self._sum, self._sim)
        self._sum.join(upload, self.upload_s(channel, payload, block, 1))
        return upload

    def uploads(self, begins_s: NDArray[np.float64], payload: Payload, rates: Rates) -> Uploads | None:
        """All at once, when the barrier opens."""
        return SummedUploads(begins_s, payload, self._sum.began_s, self._airtime_s(payload))

    def deviation_of_mean(self, vectors: Callable[[], Vectors]) -> Callable[[], float]:
        """Noise of the beam that hears those who have sent best."""
        reception = Reception(vectors, self._settings.noise_factor, self._receptions)
        return lambda: reception.noise_deviation


class SummedUploads(Uploads):
    """The parts of an edge round's participants in its sum, shape (participants,).

    Args:
        begins_s: When each comes to the barrier.
        began_s: Times of coming, and airtime -> when the barrier opens.
    """

    def __init__(
        self,
        begins_s: NDArray[np.float64],
        payload: Payload,
        began_s: Callable[[NDArray[np.float64], float], tuple[float, NDArray[np.bool_]]],
        airtime_s: float,
    ) -> None:
        self._bits, self._airtime_s = float(payload.bits), airtime_s
        self._began_s, takes_part = began_s(begins_s, airtime_s)
        self.granted_s = np.where(takes_part, self._began_s, math.inf)
        self.ends_s = instant_after(self.granted_s, airtime_s)

    def bits_left(self, cut_s: float) -> NDArray[np.float64]:
        """As if they had been sent digitally."""
        sent = max(0.0, cut_s - self._began_s) / self._airtime_s
        left = self._bits * max(0.0, 1.0 - sent)
        return np.where(self.ends_s <= cut_s, 0.0, np.where(self.ends_s < math.inf, left, self._bits))


class _Sum:
    """The sum of one edge round: who waits for it, and when it begins."""

    def __init__(self, sim: Simulation, num_expected: int, ends_s: float) -> None:
        self._sim = sim
        self._num_expected = num_expected
        self._ends_s = ends_s
        self._members: dict[str, AirUpload] = {}
        self._airtime_s = 0.0
        self._began_s = math.inf

    def _latest_s(self, airtime_s: float) -> float:
        """The last moment to begin, so that the sum is not late; infinity: any."""
        return instant_after(self._ends_s, -airtime_s)

    def began_s(self, begins_s: NDArray[np.float64], airtime_s: float) -> tuple[float, NDArray[np.bool_]]:
        """When the barrier opens to clients who come at these times, as by `join`, and who is in the sum."""
        latest_s = self._latest_s(airtime_s)
        in_time = begins_s <= latest_s
        if not in_time.any():
            return math.inf, in_time
        last_s = begins_s[in_time].max()
        if latest_s == math.inf or in_time.sum() == self._num_expected:
            return float(last_s), in_time
        return float(latest_s), in_time

    def join(self, upload: AirUpload, airtime_s: float) -> None:
        latest_s = self._latest_s(airtime_s)
        if self._began_s < math.inf or latest_s < self._sim.now_s:
            return
        self._members[upload.client] = upload
        self._airtime_s = airtime_s
        if len(self._members) == self._num_expected:
            self._begin_soon(self._sim.now_s)
        elif len(self._members) == 1 and latest_s < math.inf:
            self._begin_soon(latest_s)

    def leave(self, upload: AirUpload) -> None:
        if self._members.pop(upload.client, None) is not None and self._began_s < math.inf:
            sent = (self._sim.now_s - self._began_s) / self._airtime_s
            upload.cut(max(0.0, 1.0 - sent))

    def _begin_soon(self, time_s: float) -> None:
        """Begin when the instant of that time is over, so that all who come in it are there."""
        self._sim.at(time_s).callbacks.append(  # type: ignore[union-attr]
            lambda _: self._sim.end_of_instant().callbacks.append(self._begin)  # type: ignore[union-attr]
        )

    def _begin(self, event: Event) -> None:
        if self._began_s < math.inf or not self._members:
            return
        self._began_s = self._sim.now_s
        for client in sorted(self._members, key=by_number):
            self._members[client].begin()
        self._sim.timer(self._airtime_s).callbacks.append(self._end)  # type: ignore[union-attr]

    def _end(self, event: Event) -> None:
        members, self._members = self._members, {}
        for client in sorted(members, key=by_number):
            members[client].cut(0.0)
            members[client].done.succeed()
