"""Channel: signal-to-noise ratio and rate of one client's uplink.

The SNR is a mean SNR (`propagation`) times the gain of fading (`fading`).

Source: rate R = B log2(1 + SNR |h|^2), HIST journal paper, Section IV-A; the base is 2, since R is in bit/s.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import instant_after
from cosim.clock.small_arrays import least_of
from cosim.configuration import ConfigurationError
from cosim.jobs.job import Job
from cosim.radio.fading_of_run import ClientFading
from cosim.radio.propagation.port import CellSnr, Each, Of
from cosim.radio.redrawn import Block

LN_2 = math.log(2.0)
Number = TypeVar("Number", float, NDArray[np.float64])


def bps_per_hz(snr: Number) -> Number:
    """Rate in a bandwidth of 1 Hz, for one SNR or many; both give the same bits."""
    if isinstance(snr, np.ndarray):
        snr = np.ascontiguousarray(snr)  # numpy computes strided arrays with other last bits
    return np.log1p(snr) / LN_2  # pyright: ignore[reportReturnType]


def no_snr(client: str, snr: float) -> ConfigurationError:
    """Error for an SNR that is negative or not a number."""
    return ConfigurationError(
        f"{client} has an SNR of {snr}: must be 0 or above. Use a propagation or fading with such gains."
    )


class Met(NamedTuple):
    """Channels of uploads in a job: numbers of one client, or arrays of shape (clients,).

    Attributes:
        names: Names of all clients of the cell.
        cell: Gives their mean SNRs.
        job: Job of the clients that send.
        clients: Places of these clients in the cell.
        tx_power_w: Their transmit powers.
        factor: Strength of their signals relative to the known one.
        gain: Their fading, as power gains.
    """

    names: Sequence[str]
    cell: CellSnr
    job: Job
    clients: Of
    tx_power_w: Each
    factor: Each
    gain: Each

    def mean_snr(self, bandwidth_hz: float) -> Any:
        """SNR in a bandwidth before fading."""
        return self.cell.snr_in(self.clients, self.tx_power_w, self.factor, bandwidth_hz, self.job)

    def snr(self, bandwidth_hz: float) -> Any:
        """SNR in a bandwidth.

        Raises:
            ConfigurationError: An SNR is negative or not a number.
        """
        found = self.mean_snr(bandwidth_hz) * self.gain
        if isinstance(self.clients, int):
            if not found >= 0.0:
                raise no_snr(self.names[self.clients], found)
        elif not least_of(found) >= 0.0:
            wrong = int((found >= 0.0).argmin())
            place = int(np.arange(len(self.names))[self.clients][wrong])
            raise no_snr(self.names[place], found.item(wrong))
        return found

    def rate_bps(self, bandwidth_hz: float) -> Any:
        """Rate in a bandwidth."""
        return bandwidth_hz * bps_per_hz(self.snr(bandwidth_hz))


class Channel:
    """Uplink channel of one client over time.

    Attributes:
        met: Channel of its upload, in some fading block.
    """

    __slots__ = ("fading", "met")

    def __init__(self, met: Met, fading: ClientFading) -> None:
        self.met, self.fading = met, fading

    @property
    def client(self) -> str:
        """The client's name."""
        assert isinstance(self.met.clients, int)
        return self.met.names[self.met.clients]

    def mean_snr(self, bandwidth_hz: float) -> float:
        """SNR in a bandwidth before fading."""
        return float(self.met.mean_snr(bandwidth_hz))

    def rate_bps(self, bandwidth_hz: float, block: Block) -> float:
        """Rate in a bandwidth while a fading block lasts."""
        return float(self.met._replace(gain=self.fading.gain(block)).rate_bps(bandwidth_hz))

    def block_end_s(self, block: Block) -> float:
        """Instant at which a fading block ends by itself; infinite if never, or if all blocks are silent."""
        end_s = self.fading.end_s(block)
        if end_s == math.inf or self.mean_snr(1.0) == 0.0:
            return math.inf
        return instant_after(0.0, end_s)
