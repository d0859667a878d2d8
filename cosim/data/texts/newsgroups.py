"""20 Newsgroups: messages to twenty groups, as tokens of GPT-2.

Source and files: `newsgroups_files`.
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
from cosim.data.texts import newsgroups_files

NAME = "20-newsgroups"


@part
class Newsgroups20(SplitData):
    """Messages to twenty Usenet groups, as tokens of GPT-2, from folders.

    Attributes:
        split: Rule that deals the samples to clients. [HIST journal, Section VI-A]
    """

    split: Split = Shards()

    @property
    @override
    def outline(self) -> Dataset:
        x, y = np.zeros((1, newsgroups_files.NUM_TOKENS), np.int64), np.zeros(1, np.int64)
        num_classes = newsgroups_files.NUM_GROUPS
        return Dataset(name=NAME, train_x=x, train_y=y, test_x=x, test_y=y, num_classes=num_classes)

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        found = newsgroups_files.load(data_dir)
        return Dataset(
            name=NAME,
            train_x=found.train_tokens,
            train_y=found.train_labels,
            test_x=found.test_tokens,
            test_y=found.test_labels,
            num_classes=len(found.groups),
        )
