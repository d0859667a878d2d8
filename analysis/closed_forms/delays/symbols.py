"""Symbols that closed forms of delays have in common, and what they refuse."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
"""Array of the input's shape; a single number for a single number."""


def check_positive(owner: str, **values: float | Iterable[float]) -> None:
    """Refuse what is not above zero and finite.

    Args:
        owner: Class of the closed form, for the message.
        values: Field -> its value, or its values.
    """
    for name, value in values.items():
        each = value if isinstance(value, Iterable) else (value,)
        if not all(0.0 < one < math.inf for one in each):
            raise ValueError(
                f"{owner}.{name} = {value!r} must be above zero and finite. Check its unit; leave "
                "out what takes no time."
            )


def check_load(owner: str, load: float) -> None:
    """Refuse a load of 1 or more."""
    if load >= 1.0:
        raise ValueError(
            f"{owner}: rho = {load:g}, but only below 1 is there an equilibrium. Use fewer arrivals "
            "or faster service."
        )


def check_share(owner: str, name: str, value: float) -> None:
    """Refuse what is no probability."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{owner}.{name} = {value!r} must be from 0 to 1. Use a share, not per cent.")
