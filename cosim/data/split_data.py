"""Split data: a training set that is complete from the start and is dealt to the clients by a split."""

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
    """Data set with training samples that a split deals before the clock starts.

    Attributes:
        split: Rule that deals the samples to clients. [no source]
    """

    split: Split = Iid()

    @property
    def has_classes(self) -> bool | None:
        """True if samples have classes; None means that this is known once they are loaded."""
        return None

    @override
    def fit(self, system: Any) -> None:
        """Refuse a split by classes if there are none."""
        self._check_classes(self.has_classes)

    def _check_classes(self, has_classes: bool | None, are_whole: bool = False) -> None:
        if self.split.needs_classes and has_classes is False:
            rule = "deals samples by class, but these have no classes"
            raise self._refused(rule, "y.astype(int), if they are classes, or " if are_whole else "")

    def _refused(self, rule: str, first: str = "") -> ConfigurationError:
        kind = type(self.split).__name__
        return refuse(type(self), "split", kind, rule, f"Use {first}another split, such as Iid.")

    @override
    def held(
        self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]
    ) -> Sequence[Callable[[], NDArray[np.int64]]]:
        if dataset.train_y is None:
            raise ConfigurationError(
                f"{type(self).__name__}: the samples of {dataset.name!r} arise while the clock runs "
                "(train_y is None), so they cannot be dealt. Give train_y, or use a Data with a "
                "method held."
            )
        self._check_classes(dataset.num_classes is not None, is_whole(dataset.train_y))
        if self.split.needs_owners and dataset.train_owners is None:
            raise self._refused(f"the samples of {dataset.name!r} belong to no client")
        dealt, num_clients = self.split.deal(sim, dataset, cell_sizes), sum(cell_sizes)
        if len(dealt) != num_clients:
            raise ConfigurationError(
                f"{type(self.split).__name__}.deal gives samples to {len(dealt)} clients of "
                f"{num_clients}. Return an array of indices for each client."
            )
        taken = partial(_dealt_to, f"{type(self.split).__name__}.deal", dealt, dataset.num_sample_numbers)
        if isinstance(dealt, list | tuple):  # already made: all are checked before the clock starts
            dealt = [taken(number) for number in range(num_clients)]
            taken = dealt.__getitem__
        return [partial(taken, number) for number in range(num_clients)]

    @override
    def test_owners(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> NDArray[np.int64]:
        """Owners in the data set, if samples stay there; else owners by the classes that clients hold."""
        if self.split.needs_owners:
            if dataset.test_owners is None:
                raise self._refused(f"the test samples of {dataset.name!r} belong to no client")
            last = int(dataset.test_owners.max(initial=-1))
            if last >= sum(cell_sizes):
                raise self._refused(
                    f"test samples of {dataset.name!r} arise at client {last}, which is not there"
                )
            return dataset.test_owners
        if dataset.num_classes is None:
            raise ConfigurationError(
                f"{type(self).__name__}: the test samples of {dataset.name!r} have no classes by which "
                "to divide them among clients. Use another metric."
            )
        return owners_by_class(sim, dataset, [own() for own in self.held(sim, dataset, cell_sizes)])


def _dealt_to(
    what: str, dealt: Sequence[NDArray[np.int64]], num_samples: int, number: int
) -> NDArray[np.int64]:
    """Samples of a client that collects none and loses none.

    Raises:
        ConfigurationError: The client has no samples, or something else.
    """
    samples = np.asarray(dealt[number])
    rule, fix = None, ""
    if samples.ndim != 1 or not samples.size:
        rule, fix = "no samples", "Use fewer clients, or at least one sample for each."
    elif samples.dtype == bool:
        rule, fix = "a mask instead of the indices of samples", "Use np.flatnonzero(mask)."
    elif samples.dtype.kind not in "iu":
        rule, fix = f"{samples.dtype} instead of the indices of samples", "Use whole numbers."
    elif samples.min() < 0 or samples.max() >= num_samples:
        rule = f"samples {samples.min()} to {samples.max()}, but there are {num_samples}"
        fix = "Use indices of the training set, from 0."
    if rule is not None:
        raise ConfigurationError(f"{what}: client {number} gets {rule}. {fix}")
    samples = samples.astype(np.int64, copy=False)
    samples.flags.writeable = False  # so that no update needs a copy of its own
    return samples
