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
There is no interference between cells. What the server receives is the sum's business (`cosim.reception`).

Records written: a span "wait" at the barrier, and "send".

Source: HIST journal paper, Section V.
"""

import math
from typing import Literal

from cosim.configuration import configuration, field, positive
from cosim.radio.link import Channel
from cosim.simulation import Event, Simulation


@configuration
class AirComp:
    """Over-the-air computation.

    Attributes:
        subcarrier_hz: Bandwidth of a sub-channel, delta_f. [HIST journal, Section V-E]
        symbol_s: Duration of a symbol, t_s. [HIST journal, Section V-E]
        transmit_power: As printed, eqs. 24 and 25 leave each client at most the n-th part of its amplitude,
            n the clients in the sum; full: the weakest sends at its full power, and the noise has the n^2-th
            part of its variance. [HIST journal, eq. 25: as printed]
        noise: Literal: sigma_0^2 is the variance of a real number; real-part: of a complex one, half of it in
            the real part that counts. [HIST journal, eq. 25: literal]
    """

    subcarrier_hz: float = field(positive, default=15e3)
    symbol_s: float = field(positive, default=1e-3 / 14.0)
    transmit_power: Literal["as-printed", "full"] = "as-printed"
    noise: Literal["literal", "real-part"] = "literal"

    def noise_factor(self, num_clients: int) -> float:
        """What the two choices make of the variance of eq. 25."""
        power = 1.0 if self.transmit_power == "as-printed" else float(num_clients) ** 2
        return (1.0 if self.noise == "literal" else 0.5) / power


class AirUpload:
    """One client's part in a sum.

    Attributes:
        granted: Comes when the barrier opens.
        done: Comes when the sum has been received.
        bits_left: Bits that were left at the end.
    """

    def __init__(self, client: str, bits: int, sum_of_round: "_Sum", sim: Simulation) -> None:
        self.client = client
        self.granted: Event = sim.event()
        self.done: Event = sim.event()
        self.bits_left = float(bits)
        self.sum = sum_of_round


class OverTheAir:
    """The uplink band of one cell, in which its clients' updates add up.

    Args:
        bandwidth_hz: The whole band.
        bits_per_parameter: Bits that count for one parameter, which is one symbol here.
    """

    def __init__(
        self, sim: Simulation, settings: AirComp, bandwidth_hz: float, bits_per_parameter: int
    ) -> None:
        self.settings = settings
        self._sim = sim
        self._bandwidth_hz = bandwidth_hz
        self._symbols_per_s = bandwidth_hz / settings.subcarrier_hz / settings.symbol_s
        self._bits_per_parameter = bits_per_parameter
        self._sum = _Sum(sim, 0, math.inf)

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Expect so many clients at the barrier of an edge round that begins now and ends by then."""
        self._sum = _Sum(self._sim, num_clients, ends_s)

    def share_hz(self, num_clients: int) -> float:
        """The whole band, whoever else sends."""
        return self._bandwidth_hz

    def upload_s(self, channel: Channel, bits: float, block: tuple[int, ...], num_clients: int) -> float:
        """How long a sum lasts (eq. 37), whatever the channels and however many send."""
        return bits / self._bits_per_parameter / self._symbols_per_s

    def open(self, client: str, channel: Channel, bits: int, block: tuple[int, ...]) -> AirUpload:
        """Come to the barrier."""
        upload = AirUpload(client, bits, self._sum, self._sim)
        self._sum.join(upload, self.upload_s(channel, bits, block, 1))
        return upload

    def close(self, upload: AirUpload) -> None:
        """Leave, also before the barrier opens or the sum is over."""
        upload.sum.leave(upload)


class _Sum:
    """The sum of one edge round: who waits for it, and when it begins."""

    def __init__(self, sim: Simulation, num_expected: int, ends_s: float) -> None:
        self._sim = sim
        self._num_expected = num_expected
        self._ends_s = ends_s
        self._members: dict[str, AirUpload] = {}
        self._airtime_s = 0.0
        self._began_s = math.inf

    def join(self, upload: AirUpload, airtime_s: float) -> None:
        # The last moment is a few roundings early, so that no sum is late by one.
        latest_s = self._ends_s - airtime_s - 4.0 * math.ulp(self._ends_s)
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
            upload.bits_left *= max(0.0, 1.0 - sent)

    def _begin_soon(self, time_s: float) -> None:
        """Begin when the instant of that time is over, so that all who come in it are there."""
        timer = self._sim.timer(max(0.0, time_s - self._sim.now_s))
        timer.callbacks.append(  # type: ignore[union-attr]
            lambda _: self._sim.end_of_instant().callbacks.append(self._begin)  # type: ignore[union-attr]
        )

    def _begin(self, event: Event) -> None:
        if self._began_s < math.inf or not self._members:
            return
        self._began_s = self._sim.now_s
        for client in sorted(self._members):
            self._members[client].granted.succeed()
        self._sim.timer(self._airtime_s).callbacks.append(self._end)  # type: ignore[union-attr]

    def _end(self, event: Event) -> None:
        members, self._members = self._members, {}
        for client in sorted(members):
            members[client].bits_left = 0.0
            members[client].done.succeed()
