"""Pictures: data sets of pictures with classes, as rows of grey levels or colours."""

from abc import ABC
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import part
from cosim.data.dataset import Dataset
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


def pictures_of(files: ModuleType, data_dir: Path | None, grey_levels: GreyLevels) -> Dataset:
    """Pictures from files; a study reads them once per process, not once per run.

    Args:
        files: Module that finds and reads them, such as `fashion_mnist_files`.

    Raises:
        ConfigurationError: Files are missing or wrong.
    """
    folder = files.find(data_dir)
    return _read(files, folder, files.stamps(folder), grey_levels)


@lru_cache(maxsize=1)
def _read(files: ModuleType, folder: Path, stamps: tuple[Any, ...], grey_levels: GreyLevels) -> Dataset:
    """Read the set; the stamps tell versions of the files apart."""
    train_images, train_labels, test_images, test_labels = files.read(folder)
    return Dataset(
        name=files.NAME,
        train_x=scaled(train_images, 255.0, grey_levels),
        train_y=train_labels.astype(np.int64),
        test_x=scaled(test_images, 255.0, grey_levels),
        test_y=test_labels.astype(np.int64),
        num_classes=files.NUM_CLASSES,
    )


def outline_of(files: ModuleType) -> Dataset:
    """A black picture in place of a set of files."""
    x, y = np.zeros((1, files.NUM_FEATURES), np.float32), np.zeros(1, np.int64)
    return Dataset(name=files.NAME, train_x=x, train_y=y, test_x=x, test_y=y, num_classes=files.NUM_CLASSES)


def scaled(images: NDArray[Any], white: float, grey_levels: GreyLevels) -> NDArray[np.float32]:
    """Grey levels from 0 to white as rows of float32 in [-1, 1] or [0, 1]."""
    lowest = -1 if grey_levels == "symmetric" else 0
    x = np.divide(images.reshape(len(images), -1), np.float32(white / (1 - lowest)), dtype=np.float32)
    x += lowest
    x.flags.writeable = False
    return x
