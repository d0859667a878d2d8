"""Synthetic: a mixture of four normal distributions, for tests.

There are twelve dimensions, and each class is a quarter of each part. Class c has mean 1.5 in features 3c to
3c + 2 and mean 0 elsewhere; all variances are 1. The best possible classifier has an accuracy of int phi(x -
a) Phi(x)^3 dx = 0.919 for a = 1.5 sqrt(3). The numbers have no source. Values are rounded to 1/1024, so that
machines whose logarithms differ in the last bit agree.
"""

from pathlib import Path

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.split_data import SplitData
from cosim.data.splits.port import Split
from cosim.data.splits.shards import Shards


@part
class Synthetic(SplitData):
    """Four normal distributions to tell apart, the same in every run; for tests.

    Attributes:
        split: Rule that deals the samples to clients. [no source]
    """

    split: Split = Shards()

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        """Samples that are the same in every run; there are no files to name."""
        num_train, num_test, num_classes = 1200, 400, 4
        y = np.arange(num_train + num_test, dtype=np.int64) % num_classes
        means = 1.5 * np.repeat(np.eye(num_classes), 3, axis=1)
        noise = np.random.default_rng(20240501).standard_normal((len(y), means.shape[1]))
        x = (np.round((means[y] + noise) * 1024) / 1024).astype(np.float32)
        return Dataset(
            name="synthetic",
            train_x=x[:num_train],
            train_y=y[:num_train],
            test_x=x[num_train:],
            test_y=y[num_train:],
            num_classes=num_classes,
        )
