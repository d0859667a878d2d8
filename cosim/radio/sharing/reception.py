"""Reception: the sum over the air that an edge server receives, and its noise.

The server combines its antennas by a unit vector a that maximises the gain of the weakest sender (eq. 32).
All others reduce their amplitude to the weakest sender's, so that the server gets the mean of their signals
plus noise of the variance 1 / min_i SNR_i |a^H h_i|^2 per parameter (eqs. 24 to 26), with SNR_i the client's
transmit power over the noise. Clients send accumulated gradients, (x_0 - x_H) / gamma (eq. 22, with its sign
corrected: eq. 27 descends along them), so the noise reaches the model multiplied by gamma.

The paper has one power P_j for a cell; clients of different power or path loss are covered by scaling each
channel by its own amplitude.

Beamforming is as lazy as learning: it is done when a model that needs it is read, and never in timing-only
runs; then for all sums that are still without a beam, since many cost hardly more than one.

Source: HIST journal paper, Section V-B and V-D.
"""

import math
import weakref
from collections.abc import Callable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cosim.radio.sharing.beamforming import gains, receive_beams

Channels = NDArray[np.complex128]
MOST_AT_ONCE = 32
"""Number of problems whose numbers fit in a cache. [no source]"""


class Reception:
    """A sum over the air.

    Args:
        channels: Gives the channel vectors of the senders, each times the amplitude of its power over the
            noise, shape (clients, antennas).
        noise_factor: Factor of the variance of eq. 25 for a number of clients.
        beside: Sums that are received together with this one, itself included.
    """

    def __init__(
        self,
        channels: Callable[[], Channels],
        noise_factor: Callable[[int], float],
        beside: "weakref.WeakSet[Reception]",
    ) -> None:
        self._channels, self._noise_factor, self._beside = channels, noise_factor, beside
        self._variance: float | None = None
        beside.add(self)

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise on each parameter of the mean (eq. 25)."""
        if self._variance is None:
            self._receive()
        assert self._variance is not None
        return math.sqrt(self._variance)

    def _receive(self) -> None:
        """Form the beams of all sums with equal numbers of clients, a limited number at a time."""
        own = self._channels()
        others = ((other, other._channels()) for other in list(self._beside) if other is not self)
        fitting = (pair for pair in others if pair[1].shape == own.shape)
        alike = [(self, own), *islice(fitting, MOST_AT_ONCE - 1)]
        channels = np.stack([of for _, of in alike])
        for (sum_, of), gain in zip(alike, gains(channels, receive_beams(channels)), strict=True):
            sum_._variance = sum_._noise_factor(len(of)) / float(gain)
            self._beside.discard(sum_)
