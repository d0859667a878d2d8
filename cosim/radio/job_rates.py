"""Job rates: what clients of a cell can send in a job at their highest powers, kept as rows of many.

A client by itself reads its place in a row; a client with a power of its own, and each client of a row in
which the channel of one is refused, is asked for alone.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import BLOCK
from cosim.configuration import ConfigurationError
from cosim.jobs.job import Job
from cosim.radio.channel import Met

KEPT = 256
"""Rows that are kept. [no source]"""
KEPT_CHANNELS = 4
"""Rows whose channels are kept, for further bandwidths. [no source]"""
Row = tuple[int, Job]
"""Number of a block of consecutive clients of the cell, and their job."""


class Rows:
    """Rates of the clients of a cell over channels that stay while they send.

    Args:
        powers_w: Highest transmit power of each client, shape (clients,).
        many: Channels of some clients in a job, at their highest powers.
        one: Channel of one client by its place, transmit power and job.
    """

    def __init__(
        self,
        powers_w: NDArray[np.float64],
        many: Callable[[slice, None, Job], Met],
        one: Callable[[int, float | None, Job], Met],
    ) -> None:
        self._powers_w, self._many, self._one = powers_w, many, one
        self._kept = lru_cache(maxsize=KEPT)(self._rates_of)
        self._met = lru_cache(maxsize=KEPT_CHANNELS)(self._met_of)

    def row_of(self, place: int, tx_power_w: float | None, job: Job) -> Row | None:
        """Row in which a client is; None means that it has a power of its own.

        Args:
            tx_power_w: The client's transmit power; None means that it receives.
        """
        at_highest = tx_power_w is None or tx_power_w == self._powers_w.item(place)
        return (place // BLOCK, job) if at_highest else None

    def rate_bps(self, place: int, tx_power_w: float | None, job: Job, bandwidth_hz: float) -> float:
        """Rate of one client in a bandwidth; arguments as `row_of`.

        Raises:
            ConfigurationError: Its SNR is negative or not a number.
        """
        row = self.row_of(place, tx_power_w, job)
        if row is not None and not math.isnan(found := self._kept(row, bandwidth_hz).item(place % BLOCK)):
            return found
        return float(self._one(place, tx_power_w, job).rate_bps(bandwidth_hz))

    def rates_bps(
        self, row: Row, places: NDArray[np.int64], bandwidth_hz: float
    ) -> NDArray[np.float64] | None:
        """Rates of clients of a row, shape (places,); None means that each is asked for alone."""
        found = self._kept(row, bandwidth_hz)
        return None if math.isnan(found.item(0)) else found[places - row[0] * BLOCK]

    def _rates_of(self, row: Row, bandwidth_hz: float) -> NDArray[np.float64]:
        """Rates of a row; NaN if one of its channels is refused."""
        with suppress(ConfigurationError):
            return self._met(row).rate_bps(bandwidth_hz)
        return np.full(BLOCK, math.nan)

    def _met_of(self, row: Row) -> Met:
        block, job = row
        return self._many(slice(BLOCK * block, BLOCK * (block + 1)), None, job)
