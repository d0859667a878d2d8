"""Pairs: how often one design needed less than another on the same seed, when some runs missed the target.

A run that missed took more than it lasted. Beside one that reached the target it has lost if it lasted as
long; else the pair is undecided, as are two runs that missed, and two that differ by rounding only.

Usage::

    print(pairs([2.1, math.inf], [5.0, 5.0], [2.4, 2.0], [4.8, 4.8]))  # 1 win, 1 loss, 0 undecided

Validation: tests/analysis/test_pairs.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from analysis.intervals.statistics import difference


class Pairs(NamedTuple):
    """How often one design needed less than another on the same seed.

    Attributes:
        wins: Seeds on which it needed less.
        losses: Seeds on which it needed more.
        undecided: Seeds on which both needed the same but for rounding, or a miss leaves it open.
    """

    wins: int
    losses: int
    undecided: int

    @override
    def __str__(self) -> str:
        lost = "1 loss" if self.losses == 1 else f"{self.losses} losses"
        won = "1 win" if self.wins == 1 else f"{self.wins} wins"
        return f"{won}, {lost}, {self.undecided} undecided"


def pairs(
    own_taken: ArrayLike, own_lasted: ArrayLike, other_taken: ArrayLike, other_lasted: ArrayLike
) -> Pairs:
    """How often one design needed less than another, seed by seed; each of shape (seeds,).

    Args:
        own_taken: What the runs of the design took, infinite where one missed.
        own_lasted: As much of it as they took in all.
        other_taken: Likewise of the other design.
        other_lasted: Likewise of the other design.
    """
    own, other = np.asarray(own_taken, dtype=float), np.asarray(other_taken, dtype=float)
    own_least = np.where(np.isinf(own), own_lasted, own)  # a run that missed took more than it lasted
    other_least = np.where(np.isinf(other), other_lasted, other)
    ahead, behind = difference(own, other_least), difference(other, own_least)
    wins = int(np.sum(np.isfinite(own) & ((ahead < 0.0) | (np.isinf(other) & (ahead <= 0.0)))))
    losses = int(np.sum(np.isfinite(other) & ((behind < 0.0) | (np.isinf(own) & (behind <= 0.0)))))
    return Pairs(wins, losses, len(own) - wins - losses)
