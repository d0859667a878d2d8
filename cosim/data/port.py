"""Data: the port of what is learned, and of which client holds which samples.

| kind | samples (train / test) | features | to predict | from |
|---|---|---|---|---|
| FashionMnist | 60,000 / 10,000 | 28 x 28 in [-1, 1] or [0, 1] | 10 classes | four files on disk |
| Cifar10 | 50,000 / 10,000 | 3 x 32 x 32, scaled likewise | 10 classes | an archive or six files |
| Digits | 1,442 / 355 | 8 x 8, scaled likewise | 10 classes | comes with scikit-learn |
| AuthoredText | 14,400 / 3,600 | 12 characters | 28 characters | generated |
| Newsgroups20 | 11,314 / 7,532 | 128 tokens of GPT-2 | 20 classes | folders of messages |
| Synthetic | 1,200 / 400 | 12, normal | 4 classes | computed, for tests |
| CellTraffic | by cells and days | 18, 9 of them global | throughput | generated |
| TrafficCsv | by the table | by its columns | throughput | two CSV files |
| VideoRequests | grow while the clock runs | 43 | 256 classes | generated |
| Arrays | any | any | classes or a quantity | a function of your own |

Scope and limitations: samples that fit in memory; no augmentation, no validation part. The built-in pictures
are rows of numbers; a network that needs pictures reshapes them, rows first.

Usage::

    @part
    class Waves(SplitData):
        \"\"\"Sine waves with noise; the class is their pace.\"\"\"

        noise: float = knob(not_negative, default=0.1)

        def load(self, sim, data_dir):
            rng = sim.stream("cloud", "waves")
            pace = rng.integers(4, size=1000)
            x = np.sin((1 + pace[:, None]) * np.linspace(0.0, 6.0, 32))
            x += self.noise * rng.standard_normal(x.shape)
            return Dataset.of("waves", (x[:800], pace[:800]), (x[800:], pace[800:]))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Port, part, said_of
from cosim.data.dataset import Dataset


@part
class Data(Port, ABC):
    """Data set, and the clients that hold its samples."""

    claims = said_of(outline=("load",))

    @property
    def outline(self) -> Dataset | None:
        """Shape of the samples in files, for timing-only runs. None means that `load` must be called."""
        return None

    @abstractmethod
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        """Load the data set; named streams of the run draw what is generated.

        Args:
            data_dir: Folder that the user names; None means the usual places.

        Raises:
            ConfigurationError: Files are missing or wrong.
        """

    @abstractmethod
    def held(
        self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]
    ) -> Sequence[Callable[[], NDArray[np.int64]]]:
        """A function for every client that gives its training samples of an instant, read-only.

        Args:
            dataset: The result of `load`.
            cell_sizes: Number of clients in every cell; clients are numbered cell by cell.

        Raises:
            ConfigurationError: The data set does not suit this number of clients.
        """

    def test_owners(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> NDArray[np.int64]:
        """Number of the client to whose test share each test sample belongs, shape (test samples,).

        -1 means no client. Arguments as for `held`.

        Raises:
            ConfigurationError: Clients have no test shares; here always.
        """
        raise ConfigurationError(
            f"{type(self).__name__}: gives no client a share of the test set, but a metric asks for "
            "the accuracy of clients. Use another metric, or data with a split."
        )
