"""CIFAR-10: 60,000 colour pictures of ten classes of objects, 3 x 32 x 32.

Source and files: `cifar10_files`.
"""

from pathlib import Path

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.pictures import cifar10_files
from cosim.data.pictures.pictures import Pictures, outline_of, pictures_of


@part
class Cifar10(Pictures):
    """Colour pictures of ten classes of objects, 3 x 32 x 32, from an archive or six files."""

    @property
    @override
    def outline(self) -> Dataset:
        return outline_of(cifar10_files)

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        return pictures_of(cifar10_files, data_dir, self.grey_levels)
