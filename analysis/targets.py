"""Targets: what it took designs to reach one, when some runs did not.

A run that ended before it reached the target is censored: it would have taken longer than it lasted. Leaving
it out would favour the design that fails, so it counts:

- as one that missed: "4 of 5 reached", with Wilson's interval;
- as infinite in the median, whose interval by order statistics assumes no law and needs 6 runs;
- as having taken the horizon in the restricted mean, the mean of min(T, horizon). The horizon is common to
  all
  designs: the least that any run which missed lasted, so that min(T, horizon) is known of every run. Where
  none missed it is infinite, and this is the mean;
- in pairs on the same seed, as a win of the design that reached it, if the other run lasted as long; else the
  pair is undecided.

Scope and limitations: what a run took may be time, energy, bits or versions; each lasted as much of it as it
took in all. The horizon is read off the runs, so a study with other designs may have another.

Usage::

    taken, lasted = [2.1, math.inf, 2.4], [5.0, 5.0, 4.8]
    found = to_target(taken, horizon=common_horizon([(taken, lasted)]))
    print(found.reached, found.median, found.restricted_mean)

Source: restricted means: Royston and Parmar, BMC Medical Research Methodology 13 (2013).

Validation: tests/analysis/test_targets.py.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from analysis.intervals.medians import median_interval
from analysis.intervals.shares import wilson
from analysis.intervals.statistics import Interval, difference, t_interval


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


@attrs.frozen(kw_only=True)
class ToTarget:
    """Cost of a target for the runs of one design.

    Attributes:
        num_reached: Runs that reached it.
        num_runs: All runs.
        reached: Share of runs that reach it.
        median: With infinite ends where these are beyond the runs; None with fewer than 6 runs.
        restricted_mean: Mean of min(T, horizon), from 0 to the horizon.
        horizon: Common to the designs that are compared; infinite where no run missed.
    """

    num_reached: int
    num_runs: int
    reached: Interval
    median: Interval | None
    restricted_mean: Interval
    horizon: float

    @override
    def __str__(self) -> str:
        return f"{self.num_reached} of {self.num_runs} reached"


def common_horizon(designs: Iterable[tuple[ArrayLike, ArrayLike]]) -> float:
    """The least that a run which missed lasted, of all designs; infinite where none missed.

    Args:
        designs: Of each design, what its runs took (infinite: missed) and lasted, each shape (runs,).
    """
    missed = [np.asarray(lasted, dtype=float)[np.isinf(taken)] for taken, lasted in designs]
    return float(min((ends.min() for ends in missed if len(ends)), default=math.inf))


def to_target(taken: ArrayLike, horizon: float, level: float = 0.95) -> ToTarget:
    """Summarise what it took the runs of a design to reach a target.

    Args:
        taken: By each run, infinite where it missed, shape (runs,), at least 1.
        horizon: Common to the designs that are compared (`common_horizon`).
    """
    values = np.asarray(taken, dtype=float)
    num_reached = int(np.isfinite(values).sum())
    return ToTarget(
        num_reached=num_reached,
        num_runs=len(values),
        reached=wilson(num_reached, len(values), level),
        median=median_interval(values, level),
        restricted_mean=restricted_mean(values, horizon, level),
        horizon=horizon,
    )


def restricted_mean(taken: ArrayLike, horizon: float, level: float = 0.95) -> Interval:
    """Of min(T, horizon), by Student's t within 0 and the horizon; of one run without width, and flagged."""
    within = np.minimum(np.asarray(taken, dtype=float), horizon)
    if len(within) > 1:
        found = t_interval(within, level)
        ends = (min(max(end, 0.0), horizon) for end in (found.low, found.estimate, found.high))  # rounding
        return attrs.evolve(found, **dict(zip(("low", "estimate", "high"), ends, strict=True)))
    estimate = float(within[0])
    return Interval(
        estimate=estimate, low=estimate, high=estimate, level=level, too_noisy=True, remark="one seed"
    )


def pairs(
    own_taken: ArrayLike, own_lasted: ArrayLike, other_taken: ArrayLike, other_lasted: ArrayLike
) -> Pairs:
    """How often one design needed less than another, seed by seed; each of shape (seeds,)."""
    own, other = np.asarray(own_taken, dtype=float), np.asarray(other_taken, dtype=float)
    own_least = np.where(np.isinf(own), own_lasted, own)  # a run that missed took more than it lasted
    other_least = np.where(np.isinf(other), other_lasted, other)
    ahead, behind = difference(own, other_least), difference(other, own_least)
    wins = int(np.sum(np.isfinite(own) & ((ahead < 0.0) | (np.isinf(other) & (ahead <= 0.0)))))
    losses = int(np.sum(np.isfinite(other) & ((behind < 0.0) | (np.isinf(own) & (behind <= 0.0)))))
    return Pairs(wins, losses, len(own) - wins - losses)
