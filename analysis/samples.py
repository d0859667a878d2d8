"""Samples: a metric of a design seed by seed, and all that is said of it: mean, interval, "4 of 5".

The one source of numbers: text, csv, LaTeX, pictures and reports take what they show from here. A table of
runs (`analysis.studies.load`, `analysis.together`, or `analysis.designs.runs_of` for runs that are loaded)
has a metric for each of its columns, four for each target among them, and a metric has a sample for each
design::

    runs = together(["studies/bandwidth"])
    found = samples(runs, metrics(runs)["time_to_0.7_s"])  # number of a design -> its sample
    sample = found[2]
    sample.taken, sample.lasted             # by seed: its value, infinite where it missed; its run's total
    sample.value                            # Interval of the mean, at its level
    sample.note                             # "", "4 of 5", "none by 584 ms", "not finite in 1 of 5"
    sample.statistic                        # "mean", "mean up to 9 s", "none by 584 ms"
    sample.difference(found[0])             # paired, seed by seed; None where nothing can be said
    sample.ratio(found[0])                  # of geometric means, paired; None where a seed missed
    sample.pairs(found[0])                  # wins, losses, undecided

What a picture needs: a point at `value.estimate` with a bar from `value.low` to `value.high`, no point where
the estimate is NaN, and `note` beside it where there is one.

A run that ended before it reached its target would have taken longer than it lasted. Leaving it out would
favour the design that fails, so each metric of a target has a *horizon*, only in a design in which a run
missed: the least that such a run of it lasted, as much of the metric as it took in all. The mean is then that
of min(T, horizon), which is known of every run, at most the mean itself, and goes by the name "mean up to
9 s". Where no run of the design got there by the horizon, it has no mean: "none by 9 s". A difference goes
up to the shorter horizon of both designs, and is none where one of both has none by then; so a design without
misses has its plain mean, whatever the others do.

Scope and limitations: intervals are for each design and metric on its own, over complete runs, at least two.
Versions are compared only within one protocol: another makes them by another rule. A metric that is no finite
number in a run, because training diverged, has no mean.

Source: restricted means: Royston and Parmar, BMC Medical Research Methodology 13 (2013).

Validation: tests/analysis/test_samples.py.
"""

import math
from collections.abc import Mapping

import attrs
import numpy as np
import pandas as pd

from analysis.intervals.bounded import cut, mean_within, nothing
from analysis.intervals.medians import median_interval
from analysis.intervals.ranks import ranks
from analysis.intervals.shares import wilson
from analysis.intervals.statistics import ROUNDING, Interval, paired_difference
from analysis.metrics import Metric, with_shares
from analysis.pairs import Pairs, pairs


@attrs.frozen(kw_only=True, eq=False)
class Sample:
    """A metric of a design, seed by seed.

    Attributes:
        metric: What is counted.
        design: Number of the design.
        name: Name of the design.
        taken: By seed, infinite where a run missed its target, shape (runs,).
        lasted: By seed, what the run took in all; the same where the metric has no target, shape (runs,).
        latest: No value is beyond this, such as the instant at which all its runs end in any case.
        protocol: Kind of the protocol, which says what a version is; may be empty.
        num_lost: Runs in which it is no finite number, and not only missed.
    """

    metric: Metric
    design: int
    name: str
    taken: pd.Series
    lasted: pd.Series
    latest: float = math.inf
    protocol: str = ""
    num_lost: int = 0

    @property
    def num_runs(self) -> int:
        """Runs that count."""
        return len(self.taken)

    @property
    def num_reached(self) -> int:
        """Runs that reached the target, or simply have a value."""
        return int(np.isfinite(self.taken).sum())

    @property
    def missed(self) -> bool:
        """True if a run missed the target."""
        return self.metric.in_all is not None and self.num_reached < self.num_runs

    @property
    def horizon(self) -> float:
        """Shortest length of a run that missed the target; infinite if none missed."""
        return float(self.lasted[np.isinf(self.taken)].min()) if self.missed else math.inf

    def up_to(self, horizon: float) -> pd.Series:
        """By seed min(T, horizon), for a horizon of at most its own."""
        return self.taken.clip(upper=horizon)

    def has_none_by(self, horizon: float) -> bool:
        """True if no run reached the target before a horizon."""
        return self.metric.in_all is not None and bool((self.taken >= horizon * (1.0 - ROUNDING)).all())

    @property
    def reached_in_words(self) -> str:
        """How many of its runs reached the target, such as 4 of 5."""
        num = int(self.taken.sum()) if self.metric.is_reached else self.num_reached
        return f"{num} of {self.num_runs}"

    @property
    def note(self) -> str:
        """Words beside its number, or in place of it; empty where there is nothing to say."""
        if self.num_lost:
            return f"not finite in {self.num_lost} of {self.num_runs}"
        if self.missed and self.has_none_by(self.horizon):
            return f"none by {self.metric.amount(self.horizon)}"
        return self.reached_in_words if self.missed or self.metric.is_reached else ""

    @property
    def statistic(self) -> str:
        """Name of its statistic, such as mean."""
        if self.metric.is_reached:
            return f"{self.reached_in_words} reached"
        if not self.missed:
            return "mean"
        is_none = self.has_none_by(self.horizon)
        return f"{'none by' if is_none else 'mean up to'} {self.metric.amount(self.horizon)}"

    @property
    def value(self) -> Interval:
        """Its mean, up to the horizon where a run missed, with its interval; NaN where it has none."""
        if self.num_lost or (self.missed and self.has_none_by(self.horizon)):
            return nothing(self.note)
        if self.metric.is_reached:
            return wilson(int(self.taken.sum()), self.num_runs)
        values, most = self.up_to(self.horizon).to_numpy(), min(self.most, self.horizon)
        return mean_within(values, self.metric.range[0], most, is_share=self.metric.measure.is_share)

    @property
    def median(self) -> Interval | None:
        """Of what the target took, a miss beyond all; None with fewer than 6 runs, and without a target."""
        return median_interval(self.taken) if self.metric.in_all and not self.num_lost else None

    @property
    def most(self) -> float:
        """No value is beyond this."""
        return min(self.metric.range[1], self.latest)

    def is_comparable(self, other: "Sample") -> bool:
        """True if one unit of both is the same: versions are, of one protocol."""
        return not self.metric.is_of_versions or self.protocol == other.protocol

    def shared_horizon(self, other: "Sample") -> float:
        """Horizon of the difference to another design; infinite where no run of both missed."""
        return min(self.horizon, other.horizon)

    def difference(self, other: "Sample", level: float = 0.95) -> Interval | None:
        """Mean difference to another design, on the same seeds, up to the horizon that they share.

        None with fewer than two shared seeds, where a number is lost, where one of both has none by the
        horizon, and where the two cannot be compared.
        """
        shared, horizon = self._shared(other), self.shared_horizon(other)
        if len(shared) < 2 or self.has_none_by(horizon) or other.has_none_by(horizon):
            return None
        own, others = (of.up_to(horizon)[shared].to_numpy() for of in (self, other))
        found = paired_difference(others, own, level)
        least = self.metric.range[0]
        return cut(found, least - min(other.most, horizon), min(self.most, horizon) - least)

    def ratio(self, other: "Sample") -> Interval | None:
        """Ratio to another design, of the geometric means over the same seeds, by Student's t of logarithms.

        None with fewer than two shared seeds, where a run of both missed, or a value is not above zero.
        """
        shared = self._shared(other)
        both = np.array([of.taken[shared].to_numpy() for of in (self, other)])
        if len(shared) < 2 or self.missed or other.missed or not (both > 0.0).all():
            return None
        return ranks(both).ratio(0, 1)

    def pairs(self, other: "Sample") -> Pairs | None:
        """On how many seeds it took less than another design to a target; None without shared seeds."""
        shared = self._shared(other)
        if self.metric.in_all is None or shared.empty:
            return None
        return pairs(self.taken[shared], self.lasted[shared], other.taken[shared], other.lasted[shared])

    def _shared(self, other: "Sample") -> pd.Index:
        """Seeds of both, none where the two cannot be compared."""
        can = self.is_comparable(other) and not self.num_lost and not other.num_lost
        return self.taken.index.intersection(other.taken.index if can else [])


_OF_RUN = ("design", "seed", "status", "name", "protocol", "latest_s", "last_version", "is_diverged")
"""Columns of a table of runs that a sample of any metric is made of."""


def samples(runs: pd.DataFrame, metric: Metric) -> dict[int, Sample]:
    """The samples of a metric, by the numbers of the designs that have it, in the order of the table.

    Args:
        runs: Table of runs, of which the complete ones count.
        metric: One of `analysis.metrics.metrics`.
    """
    runs = runs if "dropped_share" in runs or "num_dropped" not in runs else with_shares(runs)
    own_columns = metric.column, metric.in_all, f"time_to_{metric.target}_s"
    runs = runs[[column for column in runs if column in (*_OF_RUN, *own_columns)]]
    runs.attrs = {}  # which pandas would copy with every step
    own = {int(str(d)): of.set_index("seed") for d, of in runs.groupby("design", sort=False)}
    own = {design: of[of["status"] == "complete"] for design, of in own.items()}
    if metric.target is not None:
        return _of_target(own, metric)
    return _of_runs(own, metric)


def diverged(runs: pd.DataFrame) -> pd.Series:
    """True if the training of each run has diverged; of a table that does not say so, of none."""
    return runs["is_diverged"] if "is_diverged" in runs else pd.Series(data=False, index=runs.index)


def _of_target(runs: Mapping[int, pd.DataFrame], metric: Metric) -> dict[int, Sample]:
    found = {}
    for design, own in runs.items():
        own = own[own["last_version"].notna()]  # a run that evaluated nothing says nothing
        if own.empty:
            continue
        if metric.is_reached:
            taken = own[f"time_to_{metric.target}_s"].notna().astype(float)
            lasted = taken
        else:
            taken, lasted = own[metric.column].fillna(math.inf), own[str(metric.in_all)]
        found[design] = _sample(design, own, metric, taken, lasted)
    return found


def _of_runs(runs: Mapping[int, pd.DataFrame], metric: Metric) -> dict[int, Sample]:
    column = metric.column
    if not all(column in own for own in runs.values()):
        return {}
    learned = {design: own.get("last_version", own[column]).notna() for design, own in runs.items()}
    sound = (own[column][~diverged(own) & learned[design]] for design, own in runs.items())
    is_of_all = all(values.notna().all() for values in sound)  # else it is of one design's task
    found = {}
    for design, own in runs.items():
        lost = int((np.isinf(own[column]) | (own[column].isna() & diverged(own))).sum())
        lost = lost if is_of_all or own[column].notna().any() else 0
        if own.empty or (not lost and own[column].isna().any()):
            continue
        found[design] = _sample(design, own, metric, own[column], own[column], lost)
    return found


def _sample(
    design: int, own: pd.DataFrame, metric: Metric, taken: pd.Series, lasted: pd.Series, num_lost: int = 0
) -> Sample:
    ends = own["latest_s"].fillna(math.inf) if metric.is_time and "latest_s" in own else pd.Series([math.inf])
    return Sample(
        metric=metric,
        design=design,
        name=str(own["name"].iloc[0]),
        taken=taken,
        lasted=lasted,
        latest=float(ends.max()),
        protocol=str(own["protocol"].iloc[0]) if "protocol" in own else "",
        num_lost=num_lost,
    )
