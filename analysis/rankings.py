"""Rankings: a study's designs by what a target took them, in rounds, bits, seconds and joules.

Designs of which every run reached the target have ranks, with intervals that hold for all pairs at once
(`analysis.intervals.ranks`); of the others it is said how many runs reached it.

Usage::

    for entry in ranked(load("studies/algorithms"), "time_to_0.9_s"):
        print(entry.name, entry.ranks, entry.ratio)

Validation: tests/analysis/test_rankings.py.
"""

import math

import attrs
import numpy as np
import pandas as pd

from analysis.intervals.ranks import Ranking, Ranks, ranks
from analysis.intervals.statistics import Interval
from analysis.metrics import TO_TARGET
from cosim.units import prefixed

COSTS = {
    "versions_to_{}": ("rounds", ""),
    "bits_per_client_to_{}": ("bits", "bit"),
    "time_to_{}_s": ("seconds", "s"),
    "energy_to_{}_j": ("joules", "J"),
}
"""Column of a target -> what designs are ranked by, and its unit."""
assert set(COSTS) == {cost.column for cost in TO_TARGET}


@attrs.frozen(kw_only=True)
class Ranked:
    """A design, and what the target took it.

    Attributes:
        name: Name of the design.
        cost: What is counted, such as seconds.
        num_reached: Runs that reached the target.
        num_runs: All runs.
        taken: Geometric mean of its runs, NaN where one missed the target.
        ratio: Ratio to the reference; None where one of both has no rank, and for the reference itself.
        ranks: Ranks that the data do not rule out; None where a run missed the target.
    """

    name: str
    cost: str
    num_reached: int
    num_runs: int
    taken: float
    ratio: Interval | None
    ranks: Ranks | None

    @property
    def in_words(self) -> str:
        """Cost with its unit, or how many runs got there."""
        if self.num_reached < self.num_runs:
            return f"{self.num_reached} of {self.num_runs} reached"
        unit = dict(COSTS.values())[self.cost]
        scale, unit = prefixed(self.taken, unit) if unit else (1.0, "")
        return f"{self.taken / scale:.3g} {unit}".rstrip()


def ranked(runs: pd.DataFrame, label: str, pattern: str, reference: str) -> list[Ranked]:
    """The designs of a study, in the order of its table.

    Args:
        runs: Table of runs.
        label: The target, as in columns: 0.9, or 0.9_held_2.
        pattern: One of `COSTS`.
        reference: Name of the design that ratios are to.
    """
    taken = taken_by(runs, pattern.format(label))
    complete = taken.dropna()
    found, names = ranks_of(complete), list(complete.index)
    entries = []
    for name, values in taken.iterrows():
        reached, ratio, own = values.dropna(), None, None
        if found is not None and name in names:
            place = names.index(name)
            own = found.of(place)
            if name != reference and reference in names:
                ratio = found.ratio(place, names.index(reference))
        entries.append(
            Ranked(
                name=str(name),
                cost=COSTS[pattern][0],
                num_reached=len(reached),
                num_runs=len(values),
                taken=float(np.exp(np.log(reached).mean())) if len(reached) == len(values) else math.nan,
                ratio=ratio,
                ranks=own,
            )
        )
    return entries


def taken_by(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Cost of each run: a row for each design, a column for each seed, NaN where it missed the target."""
    table = runs.pivot(index="name", columns="seed", values=column)
    return table.reindex(runs["name"].drop_duplicates())


def ranks_of(complete: pd.DataFrame) -> Ranking | None:
    """Of designs all of whose runs got there; None with fewer than two designs or seeds."""
    return ranks(complete.to_numpy()) if min(complete.shape) > 1 else None


def reversals(runs: pd.DataFrame, label: str, first: str, second: str) -> list[tuple[str, str]]:
    """Pairs of designs in which the first is significantly better in one cost, and worse in another.

    Args:
        runs: Table of runs.
        label: The target, as in columns.
        first: One of `COSTS`.
        second: Another one.
    """
    by_first, by_second = (taken_by(runs, pattern.format(label)).dropna() for pattern in (first, second))
    one, other = ranks_of(by_first), ranks_of(by_second)
    if one is None or other is None:
        return []
    names = [str(name) for name in by_first.index]
    assert names == [str(name) for name in by_second.index]
    return [
        (names[a], names[b])
        for a in one.order
        for b in one.order
        if one.ratio(a, b).high < 1.0 and other.ratio(a, b).low > 1.0
    ]
