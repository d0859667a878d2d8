"""Small arrays: functions of numpy whose own functions take several times as long for a few elements.

An edge round on arrays is some 60 calls of numpy, whatever the size of the cell, and with 15 clients a call
costs more than its elements.

Validation: tests/clock/test_small_arrays.py, against numpy.
"""

import math

import numpy as np
from numpy.typing import NDArray


def least_of(values: NDArray[np.float64]) -> float:
    """Smallest of some values, nan if one is, infinity of none, as `min`."""
    return values.item(values.argmin()) if values.size else math.inf


def most_of(values: NDArray[np.float64]) -> float:
    """Largest of some values, nan if one is, minus infinity of none, as `max`."""
    return values.item(values.argmax()) if values.size else -math.inf


def are_all(flags: NDArray[np.bool_]) -> bool:
    """True if all of some flags are, as `all`."""
    return not flags.size or flags.item(flags.argmin())


def filled(num: int, value: float) -> NDArray[np.float64]:
    """A number of elements with one value, as `np.full`."""
    found = np.empty(num)
    found.fill(value)
    return found
