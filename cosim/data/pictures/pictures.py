"""Pictures: data sets of pictures with classes, as rows of grey levels or colours."""

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.pictures.published import PublishedSet
from cosim.data.split_data import SplitData
from cosim.data.splits.port import Split
from cosim.data.splits.shards import Shards

GreyLevels = Literal["symmetric", "positive"]


@part
class Pictures(SplitData, ABC):
    """Pictures with classes.

    Attributes:
        grey_levels: Range of the pixels: -1 to 1 (symmetric) or 0 to 1 (positive). With the second, the same
            learning rate learns more slowly, and noise on weights does less harm. [authors' public code:
            symmetric]
        split: Rule that deals the samples to clients. [HIST journal, Section VI-A]
    """

    grey_levels: GreyLevels = "symmetric"
    split: Split = Shards()


@part
class PublishedPictures(Pictures, ABC):
    """Pictures from files; a study reads them once per process, not once per run."""

    @property
    @abstractmethod
    def published(self) -> PublishedSet:
        """The set with its files."""

    @property
    @override
    def outline(self) -> Dataset:
        """A black picture in place of the files."""
        known = self.published
        x, y = np.zeros((1, math.prod(known.shape)), np.float32), np.zeros(1, np.int64)
        return Dataset(
            name=known.name, train_x=x, train_y=y, test_x=x, test_y=y, num_classes=known.num_classes
        )

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        folder = self.published.find(data_dir)
        return _read(self.published, folder, self.published.stamps(folder), self.grey_levels)


@lru_cache(maxsize=1)
def _read(known: PublishedSet, folder: Path, stamps: tuple[Any, ...], grey_levels: GreyLevels) -> Dataset:
    """Read the set; the stamps tell versions of the files apart."""
    found = known.read(folder)
    return Dataset(
        name=known.name,
        train_x=scaled(found.train_images, 255.0, grey_levels),
        train_y=found.train_labels.astype(np.int64),
        test_x=scaled(found.test_images, 255.0, grey_levels),
        test_y=found.test_labels.astype(np.int64),
        num_classes=known.num_classes,
    )


def scaled(images: NDArray[Any], white: float, grey_levels: GreyLevels) -> NDArray[np.float32]:
    """Grey levels from 0 to white as rows of float32 in [-1, 1] or [0, 1]."""
    lowest = -1 if grey_levels == "symmetric" else 0
    x = np.divide(images.reshape(len(images), -1), np.float32(white / (1 - lowest)), dtype=np.float32)
    x += lowest
    x.flags.writeable = False
    return x
