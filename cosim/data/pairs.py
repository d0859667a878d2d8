"""Pairs: samples and labels as the user gives them, and fixes for others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError

NUMBERED = "Use np.unique(y, return_inverse=True)[1], of both parts together."
"""Fix that numbers labels from 0 without gaps."""


def pair(name: str, what: str, part: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Samples and labels of a part, with the types of a data set.

    Args:
        name: Name of the data set, for messages.
        what: Name of the part, for messages.
        part: A tuple of both, or anything with a length whose items are pairs.

    Raises:
        ConfigurationError: The part is something else, or labels are not numbers.
    """
    try:
        if hasattr(part, "ndim"):
            raise TypeError("one array, and not samples and labels")
        if not isinstance(part, tuple):
            items = [part[number] for number in range(len(part))]
            part = ([np.asarray(x) for x, _ in items], [np.asarray(y) for _, y in items])
        x, y = part
        _check_shapes(x)
        x, y = np.asarray(x), np.asarray(y)
    except (TypeError, ValueError, KeyError, RuntimeError) as error:
        raise ConfigurationError(
            f"Dataset {name!r}: the {what} part, a {type(part).__name__}, does not give two arrays "
            f"({error}). Use a tuple (samples, labels), or a data set of such pairs, such as one of "
            "torch, on the CPU."
        ) from None
    y = numbers(y, f"Dataset {name!r}: labels of the {what} part")
    if np.issubdtype(x.dtype, np.floating):
        with np.errstate(over="ignore"):  # infinite values are refused later, with their row
            x = x.astype(np.float32, copy=False)
    elif x.dtype == np.int32:
        x = x.astype(np.int64)
    return np.ascontiguousarray(x), y


def _check_shapes(x: Any) -> None:
    """Refuse samples of different shapes, which form no array."""
    if isinstance(x, list | tuple) and x and all(hasattr(one, "shape") for one in x):
        shapes = list(dict.fromkeys(tuple(one.shape) for one in x))
        if len(shapes) > 1:
            raise ValueError(f"samples of shapes {shapes[0]} and {shapes[1]}: pad or crop them to one")


def numbers(y: NDArray[Any], where: str) -> NDArray[Any]:
    """Labels as int64 classes, or float32 quantities.

    Raises:
        ConfigurationError: Labels are not numbers, or are rows although each sample has one class.
    """
    if y.dtype == object:
        y = np.array(y.tolist()) if all(np.ndim(one) == 0 for one in y.flat) else y
    rule = fix = None
    if y.dtype.kind not in "biuf":
        rule, fix = f"must be numbers, and are {_sort(y)}", NUMBERED
    elif y.ndim == 2 and y.dtype.kind in "biu" and y.shape[1] == 1:
        rule, fix = f"have shape {y.shape}, and a class is one number for a sample", "Use y[:, 0]."
    elif is_one_hot(y) and y.dtype.kind in "biu":
        rule, fix = f"are rows with a 1 at the class, of shape {y.shape}", "Use y.argmax(1)."
    elif y.ndim > 1 and y.dtype.kind in "biu":
        rule = f"are whole numbers of shape {y.shape}, and a class is one number for a sample"
        fix = "Use y.astype(np.float32), if they are quantities."
    if rule is not None:
        raise ConfigurationError(f"{where}: {rule}. {fix}")
    if y.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return y.astype(np.float32)
    if y.dtype == np.uint64 and y.max(initial=0) >= 2**63:
        raise ConfigurationError(f"{where}: go up to {y.max()}, which int64 cannot hold. {NUMBERED}")
    return y.astype(np.int64)


def _sort(y: NDArray[Any]) -> str:
    """Kind of labels in words, with the first of them."""
    first = repr(y.ravel()[:1].tolist()[0])[:40] if y.size else "none"
    return f"words, such as {first}" if y.dtype.kind in "USO" else f"{y.dtype}, such as {first}"


def is_one_hot(y: NDArray[Any]) -> bool:
    """True if every row is zeros and a single 1."""
    if y.ndim != 2 or y.shape[1] < 2 or not len(y):
        return False
    return bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())


def is_whole(y: NDArray[Any]) -> bool:
    """True if quantities are whole numbers from 0, one for each sample, as classes are."""
    return y.ndim == 1 and len(y) > 0 and bool((y >= 0).all() and (y == np.floor(y)).all())


def labels_for(labels: NDArray[Any], num_classes: int | None, num_outputs: int) -> str | None:
    """Fix that probably makes labels suit a network's number of outputs; None means no likely one.

    Args:
        labels: Classes, or quantities.
        num_classes: Number of classes; None for quantities.
    """
    if num_classes is None:
        likely = is_whole(labels) and labels.max() < num_outputs
        return "Use whole numbers as labels, y.astype(int), if they are classes." if likely else None
    found = np.unique(labels)
    if found[0] > 0 and found[-1] - found[0] + 1 == num_outputs:
        return (
            f"Use y - {found[0]}: classes are numbered from 0, and these go from {found[0]} to {found[-1]}."
        )
    if len(found) == num_outputs:
        return NUMBERED
    return "Use y.astype(np.float32), if they are quantities." if num_outputs == 1 else None


def as_targets(y: NDArray[Any], kind: Any) -> str:
    """Fix that makes labels int64 classes, or float32 quantities."""
    if kind == np.int64 and y.ndim == 2 and y.shape[1] == 1:
        return "Use y[:, 0]."
    if kind == np.int64 and is_one_hot(y):
        return "Use y.argmax(1)."
    if y.dtype.kind not in "biuf":
        return NUMBERED
    return f"Use y.astype(np.{np.dtype(kind).name})."


def from_zero(y: NDArray[Any]) -> str:
    """Fix for labels of which some are negative."""
    labels = np.unique(y)
    if labels.tolist() == [-1, 1]:
        return "Use (y + 1) // 2."
    if labels[0] < 0 and (labels[1:] >= 0).all():
        return f"Leave out the samples that have none, x[y != {labels[0]}]. Or: {NUMBERED}"
    return NUMBERED
