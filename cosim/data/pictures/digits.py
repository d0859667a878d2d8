"""Digits: handwritten digits of 8 x 8 pixels, the test part of the UCI set that scikit-learn carries.

The levels 0 to 16 are scaled to the range of Fashion-MNIST, so that a learning rate means much the same on
both. The test part is every fifth sample of each class in the set's own order.

Scope and limitations: training and test part may share writers, so test accuracy says nothing about new
writers.

Source: Alpaydin, Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository.
"""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.pictures.pictures import Pictures, scaled


@part
class Digits(Pictures):
    """Handwritten digits of scikit-learn, 8 x 8."""

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        levels, labels = _levels_and_labels()
        test = np.zeros(len(labels), dtype=bool)
        for label in range(10):
            test[np.flatnonzero(labels == label)[4::5]] = True
        x, y = scaled(levels, 16.0, self.grey_levels), labels.astype(np.int64)
        return Dataset(
            name="digits", train_x=x[~test], train_y=y[~test], test_x=x[test], test_y=y[test], num_classes=10
        )


@cache
def _levels_and_labels() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Pixels, shape (samples, 64), and classes, shape (samples,), in the set's own order."""
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    levels, labels = load_digits(return_X_y=True)
    return np.asarray(levels), np.asarray(labels)
