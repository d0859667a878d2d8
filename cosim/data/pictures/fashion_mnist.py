"""Fashion-MNIST: 70,000 grey pictures of clothes, 28 x 28.

Source and files: `fashion_mnist_files`.
"""

from pathlib import Path

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.pictures import fashion_mnist_files
from cosim.data.pictures.pictures import Pictures, outline_of, pictures_of


@part
class FashionMnist(Pictures):
    """Pictures of ten kinds of clothes, 28 x 28, from four files."""

    @property
    @override
    def outline(self) -> Dataset:
        return outline_of(fashion_mnist_files)

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        return pictures_of(fashion_mnist_files, data_dir, self.grey_levels)
