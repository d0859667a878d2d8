"""Studies read: tables of designs with intervals, and the difference that each design makes.

All designs have the same seeds, so the difference to a reference is taken seed by seed; its interval is
usually much shorter than the intervals of the two means.

Scope and limitations: intervals are Student's t over seeds, of shares on the logit, 95 %; runs that failed
are left out and counted. A run whose training has diverged counts: where a metric of it is no finite number,
its design has no mean of that metric, nor a difference. What it took to a target is the median where every
design has the 6 seeds that its interval needs, else the mean restricted to a horizon (`analysis.targets`);
its difference is always that of restricted means.

Usage::

    runs = load("studies/bandwidth")
    compared(runs, reference=0)
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import attrs
import numpy as np
import pandas as pd

from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import Interval, paired_difference, t_interval
from analysis.targets import Pairs, ToTarget, common_horizon, pairs, to_target
from cosim.engine.store.results import Result
from cosim.files.on_disk import place
from cosim.records.rows import Measure
from cosim.units import prefixed

MEASURES = {
    "time_s": Measure("simulated time (s)", higher_is_better=False),
    "energy_j": Measure("energy (J)", higher_is_better=False),
    "dropped_share": Measure("dropped updates", higher_is_better=False, is_share=True),
    "bits_per_client": Measure("sent per client (bit)", higher_is_better=False),
}
"""Metric of every run -> its meaning; scores come besides, as the tasks of the runs call them."""
TO_TARGET = {
    "time_to_{}_s": ("time_s", "time to {} (s)"),
    "energy_to_{}_j": ("energy_j", "energy to {} (J)"),
    "bits_per_client_to_{}": ("bits_per_client", "sent per client to {} (bit)"),
    "versions_to_{}": ("last_version", "versions to {}"),
}
"""Metric of a target -> what a run that missed it had taken in all, and the metric's name."""
REACHED = "reached_{}"
Designs = Mapping[int, pd.DataFrame]
"""Number of a design -> its complete runs by seed."""


class Metric(NamedTuple):
    """Something that designs are compared by.

    Attributes:
        column: Its name in files.
        measure: Its meaning.
        target: Label of the target that it belongs to, or None.
    """

    column: str
    measure: Measure
    target: str | None = None

    @property
    def unit(self) -> str:
        """Unit of the column, if it stands at the end of the words."""
        words, bracket, unit = self.measure.words.rpartition(" (")
        return unit.removesuffix(")") if words and bracket and unit.endswith(")") else ""


@attrs.frozen(kw_only=True)
class Comparison:
    """One metric of one design.

    Attributes:
        design: Its number.
        name: Its values in words.
        metric: Column of the metric.
        statistic: What the value is, such as mean, or median.
        num_runs: Seeds that count.
        value: With its interval.
        difference: Mean difference to the reference on the same seeds; None for the reference itself, or
            where fewer than two seeds are shared, or a run of one of both has no finite number.
        pairs: Of a target, on how many seeds it took less than the reference; None as the difference.
    """

    design: int
    name: str
    metric: str
    statistic: str
    num_runs: int
    value: Interval
    difference: Interval | None
    pairs: Pairs | None = None


def load(path: str | Path) -> "Result | pd.DataFrame":
    """A run's tables, or a study's table of runs with plain values of its fields.

    The table's `attrs` name its fields and targets, and say what its scores mean.

    Raises:
        ConfigurationError: There is neither.
    """
    folder = place(path)
    if not (folder / "study.json").exists():
        return Result.load(folder)
    from cosim.studies.table import table_in  # not for a run, which needs no engine

    runs = table_in(folder)
    fields = [name for name in map(str, runs.columns) if name.startswith("field.")]
    for column in fields:
        runs[column.removeprefix("field.")] = [json.loads(value) for value in runs.pop(column)]
    runs.attrs["fields"] = [column.removeprefix("field.") for column in fields]
    return with_shares(runs)


def with_shares(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the share of updates that were dropped."""
    return runs.assign(dropped_share=runs["num_dropped"] / runs["num_updates"])


def metrics(runs: pd.DataFrame) -> dict[str, Metric]:
    """Metrics that runs can be compared by."""
    scores = {name: Measure(*values) for name, values in runs.attrs.get("measures", {}).items()}
    found = [Metric(column, measure) for column, measure in (MEASURES | scores).items()]
    for label in runs.attrs.get("targets", ()):
        words = target_in_words(label)
        share = Measure(f"{words} reached", higher_is_better=True, is_share=True)
        found.append(Metric(REACHED.format(label), share, label))
        for column, (_, name) in TO_TARGET.items():
            measure = Measure(name.format(words), higher_is_better=False)
            found.append(Metric(column.format(label), measure, label))
    return {metric.column: metric for metric in found}


def target_in_words(label: str) -> str:
    """A target as its columns call it, in words."""
    target, _, held = label.partition("_held_")
    return f"{target} held for {held} evaluations" if held else target


def to_targets(runs: pd.DataFrame, metric: str) -> dict[int, ToTarget]:
    """Cost of a target for each design, up to a horizon common to all; none for designs without runs.

    Args:
        metric: A column of a target, such as time_to_0.8_s.
    """
    return _to_targets(_by_design(runs), metric)


def compared(runs: pd.DataFrame, reference: int = 0) -> list[Comparison]:
    """Every metric that there is, of every design, beside the reference; design by design."""
    found, own = metrics(runs), _by_design(with_shares(runs))
    names = {int(d): str(name) for d, name in runs[["design", "name"]].drop_duplicates().to_numpy()}
    rows: list[Comparison] = []
    for metric in found.values():
        if metric.target is None:
            rows += _of_runs(own, names, metric, reference)
        elif metric.column == REACHED.format(metric.target):
            rows += _reached(own, names, metric)
        else:
            rows += _to_target(own, names, metric, reference)
    order = list(found)
    return sorted(rows, key=lambda row: (row.design, order.index(row.metric)))


def reference_of(runs: pd.DataFrame) -> int:
    """Number of the design that differences are to.

    That of the study (`cosim.studies.reference`), of several the first one's; where none of its runs is
    complete, the first design that has one.
    """
    complete = runs.loc[runs["status"] == "complete", "design"]
    reference = int(runs.attrs.get("reference", runs["design"].min()))
    return int(complete.min()) if len(complete) and reference not in set(complete) else reference


def interval(values: np.ndarray, is_share: bool = False) -> Interval:
    """Of the mean over seeds; of one seed without width, and saying so."""
    if len(values) > 1:
        return share_interval(values) if is_share else t_interval(values)
    estimate = float(values[0])
    return Interval(
        estimate=estimate, low=estimate, high=estimate, level=0.95, too_noisy=True, remark="one seed"
    )


def is_tight(runs: pd.DataFrame, precision: dict[str, float]) -> bool:
    """True if a design's intervals are as tight as asked: half width at most this share of the mean.

    Args:
        runs: The runs of one design.
        precision: Metric -> share. A metric that the runs do not have counts as tight, and one that is not
            finite in some.
    """
    runs = with_shares(runs)
    known, complete = metrics(runs), runs[runs["status"] == "complete"]
    for metric, share in precision.items():
        if metric not in runs:
            continue
        values = complete[metric].dropna().to_numpy()
        if num_lost(complete, metric):
            continue  # no number of seeds would help
        if len(values) < 2:
            return len(values) == 0
        found = interval(values, metric in known and known[metric].measure.is_share)
        if not found.half_width <= share * abs(found.estimate) + math.ulp(0.0):
            return False
    return True


def diverged(runs: pd.DataFrame) -> pd.Series:
    """True if the training of each run has diverged; of a table that does not say so, of none."""
    return runs["is_diverged"] if "is_diverged" in runs else pd.Series(data=False, index=runs.index)


def num_lost(own: pd.DataFrame, column: str) -> int:
    """In how many runs a metric is no finite number, and not only lacking."""
    return int((np.isinf(own[column]) | (own[column].isna() & diverged(own))).sum())


def _by_design(runs: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """The complete runs of every design by seed, in the order of the table."""
    complete = {design: own.set_index("seed") for design, own in runs.groupby("design", sort=False)}
    return {int(str(d)): own[own["status"] == "complete"] for d, own in complete.items()}


def _values(own: pd.DataFrame | None, column: str) -> pd.Series:
    """A metric by seed; empty where a run lacks it, or has no finite number."""
    found = pd.Series(dtype=float) if own is None else own[column]
    return found if np.isfinite(found.to_numpy(dtype=float)).all() else found.iloc[:0]


def _taken(own: pd.DataFrame | None, metric: str) -> tuple[pd.Series, pd.Series]:
    """Cost of runs up to a target (infinite if missed), and in all; by seed."""
    if own is None:
        return pd.Series(dtype=float), pd.Series(dtype=float)
    own = own[own["last_version"].notna()]  # a run that evaluated nothing says nothing
    return own[metric].fillna(math.inf), own[_in_all(metric)]


def _in_all(metric: str) -> str:
    """Column with the total, by the end of a run, of what a metric counts."""
    for pattern, (column, _) in TO_TARGET.items():
        before, after = pattern.split("{}")
        if metric.startswith(before) and metric.endswith(after):
            return column
    raise ValueError(f"{metric}: no column of a target. Known: {', '.join(TO_TARGET)}.")


def _to_targets(runs: Designs, metric: str) -> dict[int, ToTarget]:
    taken = {design: _taken(own, metric) for design, own in runs.items()}
    taken = {design: both for design, both in taken.items() if len(both[0])}
    horizon = common_horizon(taken.values())
    return {design: to_target(own, horizon) for design, (own, _) in taken.items()}


def _of_runs(runs: Designs, names: Mapping[int, str], metric: Metric, reference: int) -> list[Comparison]:
    """The means of a metric."""
    column, rows = metric.column, []
    if not all(column in own for own in runs.values()):
        return []
    learned = {design: table.get("last_version", table[column]).notna() for design, table in runs.items()}
    sound = (table[~diverged(table) & learned[design]] for design, table in runs.items())
    is_of_all = all(own[column].notna().all() for own in sound)  # else it is of one design's task
    other = _values(runs.get(reference), column)
    for design, table in runs.items():
        lost = num_lost(table, column) if is_of_all or table[column].notna().any() else 0
        own = _values(table, column)
        if lost:
            rows.append(_lost(design, names[design], column, lost, len(table)))
        if lost or own.empty:
            continue
        rows.append(
            Comparison(
                design=design,
                name=names[design],
                metric=column,
                statistic="mean",
                num_runs=len(own),
                value=interval(own.to_numpy(), metric.measure.is_share),
                difference=None if design == reference else _difference(other, own),
            )
        )
    return rows


def _lost(design: int, name: str, metric: str, num_lost: int, num_runs: int) -> Comparison:
    """A metric that has no mean."""
    nothing, remark = math.nan, f"not finite in {num_lost} of {num_runs}"
    value = Interval(estimate=nothing, low=nothing, high=nothing, level=0.95, too_noisy=True, remark=remark)
    return Comparison(
        design=design,
        name=name,
        metric=metric,
        statistic="mean",
        num_runs=num_runs,
        value=value,
        difference=None,
    )


def _reached(runs: Designs, names: Mapping[int, str], metric: Metric) -> list[Comparison]:
    """How often each design reached a target."""
    return [
        Comparison(
            design=design,
            name=names[design],
            metric=metric.column,
            statistic=str(found),
            num_runs=found.num_runs,
            value=found.reached,
            difference=None,
        )
        for design, found in _to_targets(runs, f"time_to_{metric.target}_s").items()
    ]


def _to_target(runs: Designs, names: Mapping[int, str], metric: Metric, reference: int) -> list[Comparison]:
    """Comparisons of the cost of a target."""
    column, found = metric.column, _to_targets(runs, metric.column)
    if not any(of.num_reached for of in found.values()):
        return []  # that none reached it says all
    has_medians = all(of.median is not None for of in found.values())
    others, others_lasted = _taken(runs.get(reference), column)
    rows = []
    for design, of in found.items():
        own, lasted = _taken(runs[design], column)
        scale, unit = prefixed(of.horizon, metric.unit)
        mean = "mean" if math.isinf(of.horizon) else f"mean up to {of.horizon / scale:.4g} {unit}".rstrip()
        shared = own.index.intersection(others.index)
        against = None
        if design != reference and len(shared):
            against = pairs(own[shared], lasted[shared], others[shared], others_lasted[shared])
        within = others.clip(upper=of.horizon), own.clip(upper=of.horizon)
        rows.append(
            Comparison(
                design=design,
                name=names[design],
                metric=column,
                statistic="median" if has_medians else mean,
                num_runs=of.num_runs,
                value=of.median if has_medians and of.median is not None else of.restricted_mean,
                difference=None if design == reference else _difference(*within),
                pairs=against,
            )
        )
    return rows


def _difference(other: pd.Series, own: pd.Series) -> Interval | None:
    """Of a design to the reference, on the seeds that both have."""
    shared = own.index.intersection(other.index)
    if len(shared) < 2:
        return None
    return paired_difference(other.loc[shared].to_numpy(), own.loc[shared].to_numpy())
