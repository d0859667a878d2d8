"""Data sets of the tests."""

from pathlib import Path

from cosim import Data
from cosim.data.dataset import Dataset
from cosim.simulation import Simulation


def loaded(data: Data, data_dir: Path | None = None) -> Dataset:
    """The data set of a run with seed 1."""
    return data.load(Simulation(1), data_dir)
