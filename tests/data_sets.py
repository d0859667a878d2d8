"""Data sets of the tests."""

from pathlib import Path

from cosim.clock.simulation import Simulation
from cosim.data import Data
from cosim.data.dataset import Dataset


def loaded(data: Data, data_dir: Path | None = None) -> Dataset:
    """The data set of a run with seed 1."""
    return data.load(Simulation(1), data_dir)
