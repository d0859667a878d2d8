"""Bars: a data set of pictures, which are no rows of numbers."""

import numpy as np

import cosim
from cosim.configuration import knob, not_negative, part


@part
class Bars(cosim.data.SplitData):
    """Pictures of one channel and 6 x 6 pixels with a bar that lies, stands or slants.

    Attributes:
        noise: Standard deviation of a pixel. [no source]
    """

    noise: float = knob(not_negative, default=0.3)

    def load(self, sim, data_dir):
        """Draw 120 pictures, and 60 for the test."""
        rng = sim.stream("cloud", "bars")
        labels, places = rng.integers(3, size=180), rng.integers(6, size=180)
        pictures = self.noise * rng.standard_normal((180, 1, 6, 6))
        along = np.arange(6)
        for picture, label, place in zip(pictures[:, 0], labels, places, strict=True):
            rows, columns = ((place, along), (along, place), (along, (along + place) % 6))[label]
            picture[rows, columns] += 1.0
        return cosim.data.Dataset.of("bars", (pictures[:120], labels[:120]), (pictures[120:], labels[120:]))
