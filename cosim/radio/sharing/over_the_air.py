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

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal
from weakref import WeakSet

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import Lack, knob, part, positive
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.jobs.payload import Payload
from cosim.radio.sharing.port import Band, Sharing, Vectors
from cosim.radio.sharing.reception import Reception


@part
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

    lacks = (Lack(ONE_BY_ONE),)

    needs_exact_channels: ClassVar[bool] = True
    follows_gains: ClassVar[bool] = False
    bandwidth_hz: float = knob(positive, default=20e6)
    subcarrier_hz: float = knob(positive, default=15e3)
    symbol_s: float = knob(positive, default=1e-3 / 14.0)
    transmit_power: Literal["as-printed", "full"] = "as-printed"
    noise: Literal["literal", "real-part"] = "literal"

    @property
    def symbols_per_s(self) -> float:
        """Symbols on all subcarriers of the band together."""
        return self.bandwidth_hz / self.subcarrier_hz / self.symbol_s

    def noise_factor(self, num_clients: int) -> float:
        """What the two choices make of the variance of eq. 25."""
        power = 1.0 if self.transmit_power == "as-printed" else float(num_clients) ** 2
        return (1.0 if self.noise == "literal" else 0.5) / power

    @override
    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[BandOfSums]":
        """The band of each cell; beams of all cells are formed together."""
        receptions: WeakSet[Reception] = WeakSet()
        return [BandOfSums(self, receptions) for _ in range(num_cells)]


class BandOfSums(Band):
    """The uplink band of one cell, in which its clients' updates add up.

    Args:
        receptions: Sums over the air that nobody has asked for yet, of all cells.
    """

    def __init__(self, settings: OverTheAir, receptions: WeakSet[Reception]) -> None:
        self._settings, self._receptions = settings, receptions

    @override
    def share_hz(self, num_clients: int) -> float:
        """The whole band, whoever else sends."""
        return self._settings.bandwidth_hz

    @override
    def airtime_s(self, payload: Payload) -> float:
        """A symbol for each value, whatever the channels (eq. 37)."""
        return payload.num_values / self._settings.symbols_per_s

    @override
    def deviation_of_mean(self, vectors: Callable[[], Vectors]) -> Callable[[], float]:
        """Noise of the beam that hears those who have sent best."""
        reception = Reception(vectors, self._settings.noise_factor, self._receptions)
        return lambda: reception.noise_deviation
