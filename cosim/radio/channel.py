"""Channel: signal-to-noise ratio and rate of one client's uplink.

A mean SNR (`propagation`) times the gain of fading (`fading`).

Source: rate R = B log2(1 + SNR |h|^2), HIST journal paper, Section IV-A; the base is 2, since R is in bit/s.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import instant_after
from cosim.configuration import ConfigurationError
from cosim.jobs.job import Job
from cosim.radio.fading_of_run import ClientFading
from cosim.radio.propagation.port import CellSnr
from cosim.radio.redrawn import Block

LN_2 = math.log(2.0)
Number = TypeVar("Number", float, NDArray[np.float64])


def bps_per_hz(snr: Number) -> Number:
    """Rate in a bandwidth of 1 Hz, of one SNR or many; the same bits for both."""
    if isinstance(snr, np.ndarray):
        snr = np.ascontiguousarray(snr)  # with strides numpy takes another way, of other last bits
    return np.log1p(snr) / LN_2  # pyright: ignore[reportReturnType]


def no_snr(client: str, snr: float) -> ConfigurationError:
    """What is said of an SNR that is negative or no number."""
    return ConfigurationError(
        f"{client} has an SNR of {snr}: must be 0 or above. Usual fix: a propagation or fading whose gains "
        "are."
    )


class Met(NamedTuple):
    """What decides a client's mean SNR in a job.

    Attributes:
        cell: Gives the mean SNRs of the cell.
        job: Of the client.
        place: Its place in the cell.
        tx_power_w: Its transmit power.
        factor: How many times as strong as known beforehand its signal is.
    """

    cell: CellSnr
    job: Job
    place: int
    tx_power_w: float
    factor: float


class Channel:
    """One client's uplink channel.

    Attributes:
        mean_snr: Bandwidth -> SNR in it before fading.
        is_flat: True if that is the same in any bandwidth, so that the rate is in proportion to it.
        client: Its name, for messages.
        met: What decides it, by which many are found at once; None: one by one.
    """

    __slots__ = ("client", "fading", "is_flat", "mean_snr", "met")

    def __init__(
        self,
        mean_snr: Callable[[float], float],
        is_flat: bool,
        fading: ClientFading,
        client: str = "a client",
        met: Met | None = None,
    ) -> None:
        self.mean_snr, self.is_flat, self.fading = mean_snr, is_flat, fading
        self.client, self.met = client, met

    def rate_bps(self, bandwidth_hz: float, block: Block) -> float:
        """Rate in a bandwidth while a fading block lasts."""
        snr = self.mean_snr(bandwidth_hz) * self.fading.gain(block)
        if not snr >= 0.0:
            raise no_snr(self.client, snr)
        return float(bandwidth_hz * bps_per_hz(snr))

    def block_end_s(self, block: Block) -> float:
        """The instant at which a fading block ends by itself; infinity: it does not, or all are as silent."""
        end_s = self.fading.end_s(block)
        if end_s == math.inf or self.mean_snr(1.0) == 0.0:
            return math.inf
        return instant_after(0.0, end_s)
