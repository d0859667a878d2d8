"""Over-the-air sum: all clients of a cell that are ready send at once, and the antennas receive their sum.

Each parameter is one analog symbol on one subcarrier, so an upload takes size / (B / delta_f) symbols (eq.
37), for any number of clients. They begin together: a client that has finished training waits at a barrier
until all participants of the edge round are there, or, if the round has a deadline, until the last moment
from which the sum still ends in time. Later clients are left out of the sum, and the deadline drops them.

Scope and limitations: clients and server know the channels, are synchronised to the symbol and invert
amplitude and phase exactly (eq. 24), so an error of channel knowledge or an outage cannot be combined with
it. The channel is constant for the whole sum. A client's power is spread evenly over the subcarriers of the
band, so that in a link budget the SNR of each is the same as in the whole band. An upload uses the client's
full transmit power, for any amplitude that its channel requires. Bits are counted as if the parameters were
sent digitally. There is no interference between cells. For the received sum, see `reception`.

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
    """Over-the-air computation: all clients send at once, and the edge server receives the mean, with noise.

    Attributes:
        bandwidth_hz: Uplink band of one cell. [no source]
        subcarrier_hz: Bandwidth of a sub-channel, delta_f. [HIST journal, Section V-E]
        symbol_s: Duration of a symbol, t_s. [HIST journal, Section V-E]
        transmit_power: "as-printed": eqs. 24 and 25 leave each client at most 1/n of its amplitude, with n
            clients in the sum; "full": the weakest client sends at its full power, and the noise has 1/n^2 of
            the variance. [HIST journal, eq. 25: as printed]
        noise: "literal": sigma_0^2 is the variance of a real number; "real-part": of a complex number, half
            of it in the real part that is used. [HIST journal, eq. 25: literal]
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
        """Factor of the variance of eq. 25 that the two choices give."""
        power = 1.0 if self.transmit_power == "as-printed" else float(num_clients) ** 2
        return (1.0 if self.noise == "literal" else 0.5) / power

    @override
    def bands(self, sim: Simulation, num_cells: int) -> "Sequence[BandOfSums]":
        receptions: WeakSet[Reception] = WeakSet()
        return [BandOfSums(self, receptions) for _ in range(num_cells)]


class BandOfSums(Band):
    """Uplink band of one cell, in which its clients' updates add up.

    Args:
        receptions: Sums over the air, of all cells, without a beam so far.
    """

    def __init__(self, settings: OverTheAir, receptions: WeakSet[Reception]) -> None:
        self._settings, self._receptions = settings, receptions

    @override
    def share_hz(self, num_clients: int) -> float:
        """Whole band, for any number of clients."""
        return self._settings.bandwidth_hz

    @override
    def airtime_s(self, payload: Payload) -> float:
        """Time of one symbol for each value, for any channels (eq. 37)."""
        return payload.num_values / self._settings.symbols_per_s

    @override
    def deviation_of_mean(self, vectors: Callable[[], Vectors]) -> Callable[[], float]:
        """Noise with the best beam for the clients that have sent."""
        reception = Reception(vectors, self._settings.noise_factor, self._receptions)
        return lambda: reception.noise_deviation
