"""Reception: what an edge server receives of a sum over the air, and the noise that comes with it.

The server combines its antennas by a unit vector a, chosen so that the weakest of those who send is heard as
well as can be (eq. 32). All others reduce their amplitude to the weakest one's, so that the server gets the
mean of what they send plus noise of the variance 1 / min_i SNR_i |a^H h_i|^2 per parameter (eqs. 24 to 26),
SNR_i the client's transmit power over the noise. What is sent are accumulated gradients, (x_0 - x_H) / gamma
(eq. 22, its sign mended: eq. 27 descends along them), so the noise reaches the model gamma times.

The paper has one power P_j for a cell; clients of unlike power or path loss are covered by scaling each
channel by its own amplitude.

Beamforming is as lazy as learning: it is done when somebody reads a model that needs it, and never where only
times are asked for; then for all sums that are still without a beam, since many cost hardly more than one.

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
"""Problems whose numbers fit in a cache. [no source]"""


class Reception:
    """One sum over the air.

    Args:
        channels: Gives the channel vectors of those who send, each times the amplitude of its power over the
            noise, shape (clients, antennas).
        noise_factor: What so many clients make of the variance of eq. 25.
        beside: Sums that are received with this one, itself included.
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
        """Form the beams of all sums of as many clients, so many at a time."""
        own = self._channels()
        others = ((other, other._channels()) for other in list(self._beside) if other is not self)
        fitting = (pair for pair in others if pair[1].shape == own.shape)
        alike = [(self, own), *islice(fitting, MOST_AT_ONCE - 1)]
        channels = np.stack([of for _, of in alike])
        for (sum_, of), gain in zip(alike, gains(channels, receive_beams(channels)), strict=True):
            sum_._variance = sum_._noise_factor(len(of)) / float(gain)
            self._beside.discard(sum_)
