"""Split data: a training set that is there from the start, dealt to the clients by a split."""

from abc import ABC
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part, refuse
from cosim.data.client_test_shares import owners_by_class
from cosim.data.dataset import Dataset
from cosim.data.pairs import is_whole
from cosim.data.port import Data
from cosim.data.splits.iid import Iid
from cosim.data.splits.port import Split


@part
class SplitData(Data, ABC):
    """Data whose training samples are dealt by a split before the clock starts.

    Attributes:
        split: Who holds which samples. [no source]
    """

    split: Split = Iid()

    @property
    def has_classes(self) -> bool | None:
        """Whether samples have classes; None: known once they are loaded."""
        return None

    @override
    def fit(self, system: Any) -> None:
        """Refuse a split by classes where there are none."""
        self._check_classes(self.has_classes)

    def _check_classes(self, has_classes: bool | None, are_whole: bool = False) -> None:
        if self.split.needs_classes and has_classes is False:
            rule = "deals samples by their classes, and these have none"
            raise self._refused(rule, "y.astype(int), where they are classes; or " if are_whole else "")

    def _refused(self, rule: str, first: str = "") -> ConfigurationError:
        kind = type(self.split).__name__
        return refuse(type(self), "split", kind, rule, f"Use {first}another split, such as Iid.")

    @override
    def held(
        self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]
    ) -> Sequence[Callable[[], NDArray[np.int64]]]:
        """For every client, what gives the samples that the split deals to it."""
        if dataset.train_y is None:
            raise ConfigurationError(
                f"{type(self).__name__}: the samples of {dataset.name!r} arise while the clock runs (train_y "
                "is None), so they cannot be dealt. Give train_y, or a Data with a method held."
            )
        self._check_classes(dataset.num_classes is not None, is_whole(dataset.train_y))
        if self.split.needs_owners and dataset.train_owners is None:
            raise self._refused(f"the samples of {dataset.name!r} arise at no client")
        dealt, num_clients = self.split.deal(sim, dataset, cell_sizes), sum(cell_sizes)
        if len(dealt) != num_clients:
            raise ConfigurationError(
                f"{type(self.split).__name__}.deal gives samples to {len(dealt)} clients of {num_clients}. "
                "Use an array of indices for each client."
            )
        taken = partial(_dealt_to, f"{type(self.split).__name__}.deal", dealt, dataset.num_sample_numbers)
        if isinstance(dealt, list | tuple):  # made already: all are looked at before the clock starts
            dealt = [taken(number) for number in range(num_clients)]
            taken = dealt.__getitem__
        return [partial(taken, number) for number in range(num_clients)]

    @override
    def test_owners(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> NDArray[np.int64]:
        """Those of the data set, where samples stay at their owners; else by classes that clients hold."""
        if self.split.needs_owners:
            if dataset.test_owners is None:
                raise self._refused(f"the test samples of {dataset.name!r} arise at no client")
            last = int(dataset.test_owners.max(initial=-1))
            if last >= sum(cell_sizes):
                raise self._refused(
                    f"test samples of {dataset.name!r} arise at client {last}, which is not there"
                )
            return dataset.test_owners
        if dataset.num_classes is None:
            raise ConfigurationError(
                f"{type(self).__name__}: the test samples of {dataset.name!r} have no classes by which "
                "clients could have shares of their own. Use another metric."
            )
        return owners_by_class(sim, dataset, [own() for own in self.held(sim, dataset, cell_sizes)])


def _dealt_to(
    what: str, dealt: Sequence[NDArray[np.int64]], num_samples: int, number: int
) -> NDArray[np.int64]:
    """What a client holds that neither gets nor loses any.

    Raises:
        ConfigurationError: Nothing, or what are no samples.
    """
    samples = np.asarray(dealt[number])
    rule, fix = None, ""
    if samples.ndim != 1 or not samples.size:
        rule, fix = "no samples", "Use fewer clients, or at least one sample for each."
    elif samples.dtype == bool:
        rule, fix = "a mask, and not the indices of samples", "Use np.flatnonzero(mask)."
    elif samples.dtype.kind not in "iu":
        rule, fix = f"{samples.dtype}, and not the indices of samples", "Use whole numbers."
    elif samples.min() < 0 or samples.max() >= num_samples:
        rule = f"samples {samples.min()} to {samples.max()}, and there are {num_samples}"
        fix = "Use indices of the training set, from 0."
    if rule is not None:
        raise ConfigurationError(f"{what}: client {number} gets {rule}. {fix}")
    samples = samples.astype(np.int64, copy=False)
    samples.flags.writeable = False  # so that no update need keep a copy of its own
    return samples
