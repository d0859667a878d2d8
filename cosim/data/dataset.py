"""Data set: labelled samples as arrays, for training and for testing.

Scope and limitations: classes, or one or several quantities for each sample; samples fit in memory and have
one shape. A network gets them in that shape.

Usage::

    dataset = FashionMnist().load(sim, Path("data"))
    dataset.train_x[samples], dataset.train_y[samples]
    own = Dataset.of("own", (train_pictures, train_labels), (test_pictures, test_labels))
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.data.pairs import NUMBERED, as_targets, from_zero, pair

if TYPE_CHECKING:
    from cosim.training.programs.batching import Batching

MOST_CLASSES = 2**20
"""Most classes of a data set: tokens of the largest vocabularies. [no source]"""


@attrs.frozen(kw_only=True, eq=False)
class Dataset:
    """Samples with classes or targets, for training and for testing.

    Without train_y the training set is a table of feature rows that recur with several labels, and a training
    sample is the whole number row * num_classes + label. So clients can collect samples while the clock runs,
    although the data set is fixed when the run begins, and they may train on distinct rows (`batching`).

    Two data sets are equal only if they are one object.

    Attributes:
        name: Name in tables.
        train_x: Training samples, shape (training samples, features) or with more axes, or without train_y
            rows of features, shape (rows, features); float32, or int64 for tokens; C-contiguous.
        train_y: Training labels from 0 to num_classes - 1, int64, shape (training samples,), or targets,
            float32, shape (training samples,) or (training samples, quantities). None, with classes only:
            train_x is a table of feature rows, and samples are numbers row * num_classes + label.
        test_x: Test samples, as train_x.
        test_y: Test labels or targets, as train_y.
        num_classes: Number of classes; None means that quantities are predicted.
        num_global_features: Number of features, the first ones, that only the server sees.
        train_owners: Number of the client at which a training sample arises, from 0, shape (training
            samples,), int64; None means that samples belong to no client and are dealt by a split, or that
            there is no train_y.
        test_owners: Number of the client to whose test share a test sample belongs, from 0, shape (test
            samples,), int64; -1 means no client. None means that there are no such shares.
        batching: Makes the batches of the clients' steps (`cosim.training.programs.batching`); None means
            mini-batches.

    Raises:
        ConfigurationError: Shapes, types, labels or owners that break these rules, or numbers that are not
            finite.
    """

    name: str
    train_x: NDArray[np.float32 | np.int64] = attrs.field(repr=False)
    train_y: NDArray[Any] | None = attrs.field(repr=False)
    test_x: NDArray[np.float32 | np.int64] = attrs.field(repr=False)
    test_y: NDArray[Any] = attrs.field(repr=False)
    num_classes: int | None
    num_global_features: int = 0
    train_owners: NDArray[np.int64] | None = attrs.field(default=None, repr=False)
    test_owners: NDArray[np.int64] | None = attrs.field(default=None, repr=False)
    batching: "Callable[[], Batching] | None" = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        parts = (
            ("train", self.train_x, self.train_y, self.train_owners),
            ("test", self.test_x, self.test_y, self.test_owners),
        )
        for part, x, y, owners in parts:
            if x.ndim < 2 or x.dtype not in (np.float32, np.int64) or not x.flags.c_contiguous:
                rule = "must be C-contiguous float32, or int64 for tokens, of shape (samples, features, ...)"
                raise self._broken(f"{part}_x", x, rule, "Use np.ascontiguousarray(x, np.float32).")
            if y is not None:
                self._check_targets(part, x, y)
                self._check_finite(f"{part}_y", y)
            self._check_finite(f"{part}_x", x)
            if owners is not None and y is not None:
                self._check_owners(part, x, owners)
        if self.train_x.shape[1:] != self.test_x.shape[1:]:
            rule = f"must hold samples of the same shape as train_x, {self.train_x.shape[1:]}"
            raise self._broken("test_x", self.test_x, rule, "Cut both from one array.")
        if self.train_x.ndim > 2 and (self.train_y is None or self.num_global_features):
            rule = "must be rows of features where train_y is None or the server sees some of them"
            raise self._broken("train_x", self.train_x, rule, "Use x.reshape(len(x), -1).")
        if self.train_y is None:
            self._check_table()
        elif self.train_y.shape[1:] != self.test_y.shape[1:]:
            rule = f"must hold as many quantities as train_y, of shape {self.train_y.shape}"
            raise self._broken("test_y", self.test_y, rule, "Cut both from one array.")

    def _check_targets(self, part: str, x: NDArray[Any], y: NDArray[Any]) -> None:
        kind, what = (np.float32, "float32 target") if self.num_classes is None else (np.int64, "int64 label")
        most_axes = 2 if self.num_classes is None else 1
        if y.shape[:1] != x.shape[:1] or y.ndim > most_axes or y.dtype != kind or not y.size:
            rule = f"must be one {what} for each of the {len(x)} rows of {part}_x, at least one"
            fix = "Use as many labels as samples." if y.shape[:1] != x.shape[:1] else as_targets(y, kind)
            raise self._broken(f"{part}_y", y, rule, fix)
        if self.num_classes is None:
            return
        if self.num_classes > MOST_CLASSES:
            rule = (
                f"must have at most {MOST_CLASSES:,} classes, and its labels would make {self.num_classes:,}"
            )
            raise self._broken(f"{part}_y", y, rule, NUMBERED)
        if y.min() < 0 or y.max() >= self.num_classes:
            rule = f"must lie from 0 to {self.num_classes - 1}, but goes from {y.min()} to {y.max()}"
            fix = "Number the classes from 0." if y.min() >= 0 else from_zero(y)
            raise self._broken(f"{part}_y", y, rule, fix)

    def _check_finite(self, name: str, values: NDArray[Any]) -> None:
        """Refuse nan and infinite numbers: a sum shows whether there are any."""
        if values.dtype != np.float32:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return
        rows = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(1))
        if len(rows):
            row = values[rows[0]].reshape(-1)
            found = row[~np.isfinite(row)][0]
            others = f", as {len(rows) - 1} more do" if len(rows) > 1 else ""
            rule = f"must be finite, but row {rows[0]} holds {found}{others}"
            fix = "Leave such samples out, or fill in what is missing (np.nan_to_num)."
            raise self._broken(name, values, rule, fix)

    def _check_owners(self, part: str, x: NDArray[Any], owners: NDArray[Any]) -> None:
        name, least = f"{part}_owners", 0 if part == "train" else -1
        if owners.shape != (len(x),):
            fix = (
                "Give the client of each sample."
                if part == "train"
                else "Use -1 where a sample belongs to no client."
            )
            raise self._broken(
                name, owners, f"must be one number for each of the {len(x)} rows of {part}_x", fix
            )
        if owners.dtype != np.int64:
            raise self._broken(
                name, owners, "must be int64 numbers of clients", "Use owners.astype(np.int64)."
            )
        if len(owners) and owners.min() < least:
            row = int(owners.argmin())
            rule = f"must be numbers of clients, from {least}, but row {row} has {owners[row]}"
            raise self._broken(name, owners, rule, "Number the clients from 0.")

    def _check_table(self) -> None:
        """Check samples by number (row * num_classes + label): they need rows and classes, and no owners."""
        if self.num_classes is None or not len(self.train_x):
            rule = f"must have rows, and classes (num_classes = {self.num_classes}), where train_y is None"
            raise self._broken("train_x", self.train_x, rule, "Give train_y.")
        if self.train_owners is not None:
            rule = "must be None where train_y is None, as there are no samples yet"
            raise self._broken("train_owners", self.train_owners, rule, "Give each client its own numbers.")

    @classmethod
    def of(cls, name: str, train: Any, test: Any, num_classes: int | None = None) -> "Dataset":
        """Data set of arrays, or of torch data sets.

        Floats become float32; whole numbers of 32 or 64 bits become tokens; samples keep their shape. Arrays
        that are so already are not copied: leave them as they are while a run goes on. Labels that are whole
        numbers or booleans are classes; floats are quantities to be predicted.

        Args:
            name: Name in tables.
            train: A tuple of samples and labels as arrays, or anything with a length whose items are such
                pairs.
            test: The same for testing.
            num_classes: Number of classes; None means one more than the largest label, if labels are classes.

        Raises:
            ConfigurationError: Something else, or arrays that break the rules above.
        """
        (train_x, train_y), (test_x, test_y) = (
            pair(name, what, part) for what, part in (("training", train), ("test", test))
        )
        if num_classes is None and train_y.dtype == test_y.dtype == np.int64:
            num_classes = 1 + max(int(y.max(initial=0)) for y in (train_y, test_y))
        return cls(
            name=name, train_x=train_x, train_y=train_y, test_x=test_x, test_y=test_y, num_classes=num_classes
        )

    @property
    def num_sample_numbers(self) -> int:
        """Number of distinct training samples: they are whole numbers from 0 to one less than this."""
        if self.train_y is None:
            assert self.num_classes is not None
            return len(self.train_x) * self.num_classes
        return len(self.train_y)

    def labels_of(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels of training samples of a set with classes, shape (samples,)."""
        if self.train_y is not None:
            return self.train_y[samples]
        assert self.num_classes is not None
        return samples % self.num_classes

    @property
    def num_targets(self) -> int:
        """Number of classes, or of quantities of a sample."""
        return self.num_classes or math.prod(self.test_y.shape[1:])

    @property
    def num_features(self) -> int:
        """Number of features of a sample, including the server's."""
        return math.prod(self.train_x.shape[1:])

    def _broken(self, name: str, array: NDArray[Any], rule: str, fix: str) -> ConfigurationError:
        found = f"{array.dtype} of shape {array.shape}"
        return ConfigurationError(f"Dataset {self.name!r}: {name}, {found}, {rule}. {fix}")
