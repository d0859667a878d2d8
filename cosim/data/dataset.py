"""Data sets: labelled samples, the same on every machine and in every run.

| name | samples (train / test) | features | classes | from |
|---|---|---|---|---|
| fashion-mnist | 60,000 / 10,000 | 784 in [-1, 1] or [0, 1] | 10 | four files on disk, see `fashion_mnist` |
| cifar-10 | 50,000 / 10,000 | 3,072, scaled likewise | 10 | an archive or six files, see `cifar10` |
| 20-newsgroups | 11,314 / 7,532 | 128 tokens of GPT-2 | 20 | folders of messages, see `newsgroups` |
| digits | 1,442 / 355 | 64 in [-1, 1] or [0, 1] | 10 | comes with scikit-learn |
| synthetic | 1,200 / 400 | 12, normal | 4 | computed, for tests |

Scope and limitations: classification of flat feature vectors that fit in memory; a model that wants images
reshapes them (28 x 28, 3 x 32 x 32 and 8 x 8, rows first). No augmentation, no validation part, and no draw
from a run's random streams: what differs between runs is `partition`. The parts of "digits" may share
writers, so its test accuracy says nothing about unknown ones.

Usage::

    dataset = load("fashion-mnist", data_dir=Path("data"))
    dataset.train_x[samples], dataset.train_y[samples]

Source: each loader names its own.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.data.pictures import cifar10_files as cifar10
from cosim.data.pictures import fashion_mnist_files as fashion_mnist
from cosim.data.texts import newsgroups_files as newsgroups

DatasetName = Literal["fashion-mnist", "cifar-10", "20-newsgroups", "digits", "synthetic"]
GreyLevels = Literal["symmetric", "positive"]
NAMES: tuple[str, ...] = get_args(DatasetName)


@attrs.frozen(kw_only=True, eq=False)
class Dataset:
    """Samples with classes or targets, for training and for testing.

    Without train_y the training set is a table of feature rows that recur with several labels, and a training
    sample is the whole number row * num_classes + label. So clients can collect samples while the clock runs,
    although the data set is fixed when it begins; and they train on distinct rows (`recurring_rows`).

    Two data sets are equal only if they are one object.

    Attributes:
        name: What a table calls it.
        train_x: Training features, shape (training samples, features), or without train_y (rows, features);
            float32, or int64 for tokens; C-contiguous.
        train_y: Training labels from 0 to num_classes - 1, int64, or targets, float32; shape (training
            samples,). None, with classes only: train_x is a table of feature rows, and samples are numbers
            row * num_classes + label.
        test_x: Test features, shape (test samples, features), as train_x.
        test_y: Test labels or targets, shape (test samples,), as train_y.
        num_classes: Number of classes; None: a quantity is predicted.
        num_global_features: So many features, the first ones, are seen by the server only.
        train_owners: Number of the client at which a training sample arises, from 0, shape (training
            samples,), int64; None: samples belong nowhere and are dealt by a split, or there is no train_y.

    Raises:
        ConfigurationError: shapes, types or labels that break these rules.
    """

    name: str
    train_x: NDArray[np.float32 | np.int64] = attrs.field(repr=False)
    train_y: NDArray[Any] | None = attrs.field(repr=False)
    test_x: NDArray[np.float32 | np.int64] = attrs.field(repr=False)
    test_y: NDArray[Any] = attrs.field(repr=False)
    num_classes: int | None
    num_global_features: int = 0
    train_owners: NDArray[np.int64] | None = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        for part, x, y in (("train", self.train_x, self.train_y), ("test", self.test_x, self.test_y)):
            if x.ndim != 2 or x.dtype not in (np.float32, np.int64) or not x.flags.c_contiguous:
                rule = "must be C-contiguous float32, or int64 for tokens, of shape (samples, features)"
                raise self._broken(f"{part}_x", x, rule, "np.ascontiguousarray(x, np.float32)")
            if y is not None:
                self._check_targets(part, x, y)
        if self.train_x.shape[1] != self.test_x.shape[1]:
            rule = f"must have as many features as train_x, {self.train_x.shape[1]}"
            raise self._broken("test_x", self.test_x, rule, "cut both from one array")
        if self.train_y is None:
            self._check_table()

    def _check_targets(self, part: str, x: NDArray[Any], y: NDArray[Any]) -> None:
        kind, what = (np.float32, "float32 target") if self.num_classes is None else (np.int64, "int64 label")
        if y.shape != x.shape[:1] or y.dtype != kind or not len(y):
            rule = f"must be one {what} for each of the {len(x)} rows of {part}_x, at least one"
            raise self._broken(f"{part}_y", y, rule, f"y.astype(np.{np.dtype(kind).name})")
        if self.num_classes is not None and (y.min() < 0 or y.max() >= self.num_classes):
            rule = f"must lie from 0 to {self.num_classes - 1}, but goes from {y.min()} to {y.max()}"
            raise self._broken(f"{part}_y", y, rule, "number the classes from 0")

    def _check_table(self) -> None:
        """Samples that are numbers row * num_classes + label need rows and classes, and arise nowhere yet."""
        if self.num_classes is None or not len(self.train_x):
            rule = f"must have rows, and classes (num_classes = {self.num_classes}), where train_y is None"
            raise self._broken("train_x", self.train_x, rule, "give train_y")
        if self.train_owners is not None:
            rule = "must be None where train_y is None, for there are no samples yet"
            raise self._broken("train_owners", self.train_owners, rule, "give each client its own numbers")

    @property
    def num_sample_numbers(self) -> int:
        """Training samples are whole numbers from 0 to one less than this."""
        if self.train_y is None:
            assert self.num_classes is not None
            return len(self.train_x) * self.num_classes
        return len(self.train_y)

    @property
    def num_features(self) -> int:
        """Features of a sample, those of the server included."""
        return self.train_x.shape[1]

    def _broken(self, name: str, array: NDArray[Any], rule: str, fix: str) -> ConfigurationError:
        found = f"{array.dtype} of shape {array.shape}"
        return ConfigurationError(f"Dataset {self.name!r}: {name}, {found}, {rule}. Usual fix: {fix}.")


def load(
    name: DatasetName | str, data_dir: Path | None = None, *, grey_levels: GreyLevels = "symmetric"
) -> Dataset:
    """A data set by its name.

    Args:
        name: One of `NAMES`.
        data_dir: Folder with the files of "fashion-mnist", "cifar-10" or "20-newsgroups"; None looks where
            their modules say. The other sets have no files and take no notice of it.
        grey_levels: Whether pictures are scaled to [-1, 1] or to [0, 1].

    Raises:
        ConfigurationError: unknown name, or files that are missing or wrong.
    """
    match name:
        case "fashion-mnist" | "cifar-10":
            return _pictures(name, data_dir, grey_levels)
        case "20-newsgroups":
            return _newsgroups(data_dir)
        case "digits":
            return _digits(grey_levels)
        case "synthetic":
            return _synthetic()
    raise ConfigurationError(f"data set {name!r} is unknown. Known data sets: {', '.join(NAMES)}.")


def outline(name: DatasetName | str) -> Dataset | None:
    """A sample of zeros in place of a data set that lies in files; None for a set that does not."""
    if name in PICTURES:
        x, num_classes = np.zeros((1, PICTURES[name].NUM_FEATURES), np.float32), PICTURES[name].NUM_CLASSES
    elif name == "20-newsgroups":
        x, num_classes = np.zeros((1, newsgroups.NUM_TOKENS), np.int64), newsgroups.NUM_GROUPS
    else:
        return None
    y = np.zeros(1, np.int64)
    return Dataset(name=name, train_x=x, train_y=y, test_x=x, test_y=y, num_classes=num_classes)


PICTURES = {"fashion-mnist": fashion_mnist, "cifar-10": cifar10}
"""Name -> the module that finds and reads its files."""


def _pictures(name: str, data_dir: Path | None, grey_levels: GreyLevels) -> Dataset:
    """Pictures in files; grey levels and colours as in the authors' public code, or in [0, 1]."""
    folder = PICTURES[name].find(data_dir)
    return _pictures_of(name, folder, PICTURES[name].stamps(folder), grey_levels)


@lru_cache(maxsize=1)
def _pictures_of(name: str, folder: Path, stamps: tuple[Any, ...], grey_levels: GreyLevels) -> Dataset:
    """The set as the files were at these stamps; a study reads them once per process, not once per run."""
    train_images, train_labels, test_images, test_labels = PICTURES[name].read(folder)
    return Dataset(
        name=name,
        train_x=_scaled(train_images, 255.0, grey_levels),
        train_y=train_labels.astype(np.int64),
        test_x=_scaled(test_images, 255.0, grey_levels),
        test_y=test_labels.astype(np.int64),
        num_classes=PICTURES[name].NUM_CLASSES,
    )


def _newsgroups(data_dir: Path | None) -> Dataset:
    """20 Newsgroups as tokens of GPT-2."""
    found = newsgroups.load(data_dir)
    return Dataset(
        name="20-newsgroups",
        train_x=found.train_tokens,
        train_y=found.train_labels,
        test_x=found.test_tokens,
        test_y=found.test_labels,
        num_classes=len(found.groups),
    )


def _scaled(images: NDArray[Any], white: float, grey_levels: GreyLevels) -> NDArray[np.float32]:
    """Grey levels from 0 to white as rows of float32 in [-1, 1] or [0, 1]."""
    lowest = -1 if grey_levels == "symmetric" else 0
    x = np.divide(images.reshape(len(images), -1), np.float32(white / (1 - lowest)), dtype=np.float32)
    x += lowest
    x.flags.writeable = False
    return x


def _digits(grey_levels: GreyLevels) -> Dataset:
    """Handwritten digits of 8 x 8 pixels, the test part of the UCI set that scikit-learn carries.

    The levels 0 to 16 get the range of Fashion-MNIST, so that a learning rate means much the same on both.
    The test part is every fifth sample of each class in the set's own order.

    Source: Alpaydin, Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository.
    """
    from sklearn.datasets import load_digits  # a second to import, and only needed here

    levels, labels = map(np.asarray, load_digits(return_X_y=True))
    test = np.zeros(len(labels), dtype=bool)
    for label in range(10):
        test[np.flatnonzero(labels == label)[4::5]] = True
    x, y = _scaled(levels, 16.0, grey_levels), labels.astype(np.int64)
    return Dataset(
        name="digits", train_x=x[~test], train_y=y[~test], test_x=x[test], test_y=y[test], num_classes=10
    )


def _synthetic() -> Dataset:
    """A mixture of four normal distributions in twelve dimensions, each class a quarter of each part.

    Class c has mean 1.5 in features 3c to 3c + 2 and mean 0 elsewhere; all variances are 1. The best possible
    classifier is right with probability int phi(x - a) Phi(x)^3 dx = 0.919 for a = 1.5 sqrt(3). The numbers
    have no source. Values are rounded to 1/1024, so that machines whose logarithms differ in the last bit
    agree.
    """
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
