"""Studies read: tables of designs with intervals, and the difference that each design makes.

All designs have the same seeds, so the difference to a reference is taken seed by seed; its interval is
usually much shorter than those of the two means.

Scope and limitations: intervals are Student's t over seeds, of shares on the logit, 95 %; runs that failed
are left out and counted. What it took to a target is the median where every design has the 6 seeds that its
interval needs, else the mean restricted to a horizon (`analysis.targets`); its difference is always that of
restricted means.

Usage::

    runs = load("studies/bandwidth")
    compared(runs, reference=0)
"""

import json
import math
from pathlib import Path
from typing import NamedTuple

import attrs
import numpy as np
import pandas as pd

from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import Interval, paired_difference, t_interval
from analysis.targets import Pairs, ToTarget, common_horizon, pairs, to_target
from cosim.records import Measure
from cosim.results import Result
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
        """That of the column, where it stands at the end of the words."""
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
            where fewer than two seeds are shared.
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
    folder = Path(path)
    if not (folder / "study.json").exists():
        return Result.load(folder)
    runs = pd.read_parquet(folder / "runs.parquet")
    fields = [name for name in map(str, runs.columns) if name.startswith("field.")]
    for column in fields:
        runs[column.removeprefix("field.")] = [json.loads(value) for value in runs.pop(column)]
    runs.attrs["fields"] = [column.removeprefix("field.") for column in fields]
    return with_shares(runs)


def with_shares(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the share of updates that were dropped."""
    return runs.assign(dropped_share=runs["num_dropped"] / runs["num_updates"])


def metrics(runs: pd.DataFrame) -> dict[str, Metric]:
    """What runs can be compared by."""
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


def of_design(runs: pd.DataFrame, design: int, metric: str) -> pd.Series:
    """A metric of a design's complete runs by seed; empty where a run lacks it."""
    own = _complete(runs, design)[metric]
    return own if own.notna().all() else own.iloc[:0]


def taken(runs: pd.DataFrame, design: int, metric: str) -> tuple[pd.Series, pd.Series]:
    """What a design's complete runs took to a target (infinite: missed), and in all; by seed.

    Args:
        metric: A column of a target, such as time_to_0.8_s.
    """
    own, column = _complete(runs, design), _in_all(metric)
    own = own[own["last_version"].notna()]  # a run that evaluated nothing says nothing
    return own[metric].fillna(math.inf), own[column]


def to_targets(runs: pd.DataFrame, metric: str) -> dict[int, ToTarget]:
    """What it took each design to a target, up to a horizon common to all; those without runs have nothing.

    Args:
        metric: A column of a target, such as time_to_0.8_s.
    """
    found = {int(design): taken(runs, design, metric) for design in runs["design"].unique()}
    found = {design: both for design, both in found.items() if len(both[0])}
    horizon = common_horizon(found.values())
    return {design: to_target(own, horizon) for design, (own, _) in found.items()}


def compared(runs: pd.DataFrame, reference: int = 0) -> list[Comparison]:
    """Every metric that there is, of every design, beside the reference; design by design."""
    runs = with_shares(runs)
    found = metrics(runs)
    rows: list[Comparison] = []
    for metric in found.values():
        if metric.target is None:
            rows += _of_runs(runs, metric, reference)
        elif metric.column == REACHED.format(metric.target):
            rows += _reached(runs, metric)
        else:
            rows += _to_target(runs, metric, reference)
    order = list(found)
    return sorted(rows, key=lambda row: (row.design, order.index(row.metric)))


def interval(values: np.ndarray, is_share: bool = False) -> Interval:
    """Of the mean over seeds; of one seed without width, and saying so."""
    if len(values) > 1:
        return share_interval(values) if is_share else t_interval(values)
    estimate = float(values[0])
    return Interval(
        estimate=estimate, low=estimate, high=estimate, level=0.95, too_noisy=True, remark="one seed"
    )


def is_tight(runs: pd.DataFrame, precision: dict[str, float]) -> bool:
    """Whether a design's intervals are as tight as asked: half width at most this share of the mean.

    Args:
        runs: The runs of one design.
        precision: Metric -> share. A metric that the runs do not have counts as tight.
    """
    runs = with_shares(runs)
    known = metrics(runs)
    for metric, share in precision.items():
        if metric not in runs:
            continue
        values = runs.loc[runs["status"] == "complete", metric].dropna().to_numpy()
        if len(values) < 2:
            return len(values) == 0
        found = interval(values, metric in known and known[metric].measure.is_share)
        if not found.half_width <= share * abs(found.estimate) + math.ulp(0.0):
            return False
    return True


def _names(runs: pd.DataFrame) -> list[tuple[int, str]]:
    return [(int(d), str(name)) for d, name in runs[["design", "name"]].drop_duplicates().to_numpy()]


def _complete(runs: pd.DataFrame, design: int) -> pd.DataFrame:
    return runs[(runs["design"] == design) & (runs["status"] == "complete")].set_index("seed")


def _in_all(metric: str) -> str:
    """What a run that missed a target took in all of what a metric counts."""
    for pattern, (column, _) in TO_TARGET.items():
        before, after = pattern.split("{}")
        if metric.startswith(before) and metric.endswith(after):
            return column
    raise ValueError(f"{metric}: no column of a target. Known: {', '.join(TO_TARGET)}.")


def _of_runs(runs: pd.DataFrame, metric: Metric, reference: int) -> list[Comparison]:
    """The means of a metric."""
    column, rows = metric.column, []
    if column not in runs:
        return []
    other = of_design(runs, reference, column)
    for design, name in _names(runs):
        own = of_design(runs, design, column)
        if own.empty:
            continue
        rows.append(
            Comparison(
                design=design,
                name=name,
                metric=column,
                statistic="mean",
                num_runs=len(own),
                value=interval(own.to_numpy(), metric.measure.is_share),
                difference=None if design == reference else _difference(other, own),
            )
        )
    return rows


def _reached(runs: pd.DataFrame, metric: Metric) -> list[Comparison]:
    """How often each design reached a target."""
    found = to_targets(runs, f"time_to_{metric.target}_s")
    return [
        Comparison(
            design=design,
            name=name,
            metric=metric.column,
            statistic=f"{found[design].num_reached} of {found[design].num_runs} reached",
            num_runs=found[design].num_runs,
            value=found[design].reached,
            difference=None,
        )
        for design, name in _names(runs)
        if design in found
    ]


def _to_target(runs: pd.DataFrame, metric: Metric, reference: int) -> list[Comparison]:
    """What a target took."""
    column, found = metric.column, to_targets(runs, metric.column)
    if not any(of.num_reached for of in found.values()):
        return []  # that none reached it says all
    has_medians = all(of.median is not None for of in found.values())
    others, others_lasted = taken(runs, reference, column)
    rows = []
    for design, name in _names(runs):
        if design not in found:
            continue
        of, (own, lasted) = found[design], taken(runs, design, column)
        horizon = of.horizon
        scale, unit = prefixed(horizon, metric.unit)
        mean = "mean" if math.isinf(horizon) else f"mean up to {horizon / scale:.4g} {unit}".rstrip()
        shared = own.index.intersection(others.index)
        against = None
        if design != reference and len(shared):
            against = pairs(own[shared], lasted[shared], others[shared], others_lasted[shared])
        within = others.clip(upper=horizon), own.clip(upper=horizon)
        rows.append(
            Comparison(
                design=design,
                name=name,
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
