"""Evenness: Jain's index of some amounts, one of each client.

Source: Jain, Chiu and Hawe, DEC Research Report TR-301 (1984), equation 1.
"""

import math

import numpy as np
from numpy.typing import ArrayLike


def jain_index(amounts: ArrayLike) -> float:
    """(sum x)^2 / (n sum x^2), where x >= 0: 1 if all are equal, 1 / n if one has all; NaN if all are 0.

    Args:
        amounts: One of each client, shape (clients,).
    """
    found = np.asarray(amounts, dtype=float)
    squares = len(found) * float((found**2).sum())
    return float(found.sum()) ** 2 / squares if squares else math.nan
