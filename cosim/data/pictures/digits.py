"""Digits: handwritten digits of 8 x 8 pixels, the test part of the UCI set that scikit-learn carries.

The levels 0 to 16 are scaled to the range of Fashion-MNIST, so that a learning rate means much the same on
both. The test part is every fifth sample of each class in the set's own order.

Scope and limitations: training and test part may share writers, so test accuracy says nothing about new
writers.

Source: Alpaydin, Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository.
"""

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.data.dataset import Dataset
from cosim.data.pictures.pictures import Pictures, scaled

FILE = Path("datasets", "data", "digits.csv.gz")
"""File of the set below scikit-learn's folder: of each sample 64 levels, rows first, and its class."""
NUM_SAMPLES, NUM_PIXELS = 1797, 64


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
def _levels_and_labels() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Pixels, shape (samples, 64), and classes, shape (samples,), in the set's own order.

    Read from the file, because scikit-learn itself takes as long to import as torch.
    """
    package = find_spec("sklearn")
    folders = None if package is None else package.submodule_search_locations
    if not folders:
        raise _missing("scikit-learn is not installed")
    file = Path(folders[0]) / FILE
    try:
        with gzip.open(file, "rt", encoding="ascii") as lines:
            rows = np.loadtxt(lines, dtype=np.uint8, delimiter=",")
    except (OSError, ValueError) as error:
        raise _missing(f"{file} cannot be read ({error})") from None
    if rows.shape != (NUM_SAMPLES, NUM_PIXELS + 1):
        raise _missing(f"{file} holds {rows.shape}, not {NUM_SAMPLES} samples of {NUM_PIXELS} pixels")
    return rows[:, :-1], rows[:, -1]


def _missing(what: str) -> ConfigurationError:
    return ConfigurationError(f"Digits: {what}. Use python -m pip install --force-reinstall scikit-learn.")
