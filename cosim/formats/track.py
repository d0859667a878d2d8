"""Track: the way of a device, as lines between points at known times."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FASTEST_M_PER_S = 100.0
"""Speed beyond which places or speeds are in another unit: 360 km/h. [no source]"""
Point = tuple[float, float, float]
"""Time in s, x and y in m."""


class Track(NamedTuple):
    """Way of a device.

    Attributes:
        name: Its name in the file.
        points: Times and places, ascending, between which it moves evenly.
        windows: Begins and ends of its stays, in s.
    """

    name: str
    points: Sequence[Point]
    windows: Sequence[tuple[float, float]]

    def places_m(self, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Places at times, NaN while it is away, shape (times, 2)."""
        known_s, x_m, y_m = np.array(self.points).T
        found = np.stack([np.interp(time_s, known_s, x_m), np.interp(time_s, known_s, y_m)], axis=-1)
        there = np.zeros(len(time_s), dtype=bool)
        for from_s, to_s in self.windows:
            there |= (from_s <= time_s) & (time_s < to_s)
        found[~there] = np.nan
        return found
