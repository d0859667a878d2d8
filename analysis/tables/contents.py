"""Contents of a table: a row for each design, or for each metric and design; numbers with their intervals.

Units take the prefix of the largest number of their column, and shares are per cent; in `frame` all is as in
files. A number is marked as the best where its difference to every other of its column, on the same seeds,
has an interval without zero (95 % each, not jointly).

Usage::

    runs = load("studies/bandwidth")
    print(latex(by_design(runs, ["time_s", "energy_j"])))

Validation: tests/analysis/tables/test_contents.py.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from analysis.intervals.statistics import Interval
from analysis.metrics import Metric, metrics
from analysis.samples import Sample, samples
from analysis.studies import compared
from analysis.tables.cells import Cell, number_of, text_of, value_of
from analysis.tables.factors import factors_in, factors_of, num_diverged_of
from cosim.units import prefixed


class Table(NamedTuple):
    """Head and rows; the first `num_factors` columns say what a row is of.

    Attributes:
        caption: What the numbers are; may be empty.
        label: Name by which a text refers to it; may be empty.
    """

    head: list[str]
    rows: list[list[Cell]]
    num_factors: int
    caption: str = ""
    label: str = ""


def by_design(runs: pd.DataFrame, chosen: Collection[str], reference: int | None = None) -> Table:
    """A row for each design, a column for each metric.

    Args:
        chosen: Columns of metrics; columns that no design has are left out.
        reference: Number of a design, for differences to it, taken seed by seed. None means plain means.
    """
    factors, of_design = factors_of(runs)
    columns: dict[str, dict[int, Cell]] = {}
    for _, own, scale, label in chosen_of(runs, chosen):
        if reference is None:
            cells = values_of(own, scale)
        else:
            cells = {d: difference_of(s, own.get(reference), scale) for d, s in own.items() if d != reference}
        if any(cells.values()):
            columns[label] = cells
    rows = [[*own, *(cells.get(d, "") for cells in columns.values())] for d, own in of_design.items()]
    return Table([*factors, *columns], rows, len(factors))


def by_metric(runs: pd.DataFrame, chosen: Collection[str], reference: int) -> Table:
    """A row for each metric and design, beside the difference to a design, seed by seed."""
    factors, of_design = factors_of(runs)
    (name,) = runs.loc[runs["design"] == reference, "name"].unique()
    rows: list[list[Cell]] = []
    for _, own, scale, label in chosen_of(runs, chosen):
        other = own.get(reference)
        for place, (design, cell) in enumerate(values_of(own, scale).items()):
            against = _against(own[design], other, design == reference, scale)
            rows.append(["" if place else label, *of_design[design], cell, against])
    return Table(["", *factors, "mean", f"difference to {name}, seed by seed"], rows, len(factors) + 1)


def frame(runs: pd.DataFrame, chosen: Collection[str], reference: int) -> pd.DataFrame:
    """The numbers of all metrics, a row for each design and metric, in the units of their columns."""
    factors = runs.drop_duplicates("design").set_index("design")[factors_in(runs)]
    rows, num_diverged = [], num_diverged_of(runs)
    for row in compared(runs, reference):
        if row.metric not in chosen:
            continue
        own = {"design": row.design, "name": row.name, **factors.loc[row.design].to_dict()}
        own |= {"metric": row.metric, "statistic": row.statistic, "num_runs": row.num_runs}
        own |= {"num_diverged": int(num_diverged[row.design]), "note": row.note}
        own |= {"value": row.value.estimate, "low": row.value.low, "high": row.value.high}
        if row.sample.missed:
            own["horizon"] = row.sample.horizon
        if (median := row.sample.median) is not None:
            own |= {"median": median.estimate, "median_low": median.low, "median_high": median.high}
        if (found := row.difference) is not None:
            own |= {"difference": found.estimate, "difference_low": found.low, "difference_high": found.high}
            if math.isfinite(horizon := row.horizon):
                own["difference_horizon"] = horizon
        rows.append(own | (row.pairs._asdict() if row.pairs else {}))
    return pd.DataFrame(rows)


def scaled(metric: Metric, values: Sequence[Interval]) -> tuple[float, str]:
    """Factor that a metric's numbers are multiplied by to be shown, and its head with its unit."""
    measure = metric.measure
    if metric.is_reached:
        return 1.0, f"reached {measure.words.removesuffix(' reached')}"
    if measure.is_share or not metric.unit:
        return measure.factor, measure.label
    largest = max((abs(v.estimate) for v in values if math.isfinite(v.estimate)), default=0.0)
    scale, unit = prefixed(largest, metric.unit)
    return 1.0 / scale, f"{measure.words.removesuffix(f'({metric.unit})').strip()} ({unit})"


def best_of(own: Mapping[int, Sample]) -> int | None:
    """Number of the design that is better than every other on the same seeds; None if none is."""
    values = {d: sample.value.estimate for d, sample in own.items() if not sample.metric.is_reached}
    known = {d: value for d, value in values.items() if not math.isnan(value)}
    if len(own) < 2 or not known:
        return None
    better = next(iter(own.values())).metric.measure.higher_is_better
    best = (max if better else min)(known, key=known.__getitem__)
    others = [sample for d, sample in own.items() if d != best]
    return best if all(_is_ahead(own[best], other, higher=better) for other in others) else None


def _is_ahead(best: Sample, other: Sample, *, higher: bool) -> bool:
    """True if a design is better than another, by the interval of their difference.

    Where a design has no mean, by its having missed the target on every seed that the other reached.
    """
    found = best.difference(other)
    if found is None:
        pairs = best.pairs(other)
        return pairs is not None and pairs.wins > 1 and not pairs.losses and not pairs.undecided
    is_sure = not found.too_noisy or found.low == found.high  # the same on every seed
    return is_sure and (found.low > 0.0 if higher else found.high < 0.0)


def chosen_of(
    runs: pd.DataFrame, chosen: Collection[str]
) -> Iterable[tuple[Metric, dict[int, Sample], float, str]]:
    """Metrics that any design has, their samples, and how their numbers are shown."""
    known = metrics(runs)
    for metric in (known[column] for column in chosen):
        own = samples(runs, metric)
        if own and (not metric.in_all or any(sample.num_reached for sample in own.values())):
            yield metric, own, *scaled(metric, [sample.value for sample in own.values()])


def values_of(own: Mapping[int, Sample], scale: float) -> dict[int, Cell]:
    """Cells of designs that stand among each other, the best marked."""
    best = best_of(own)
    return {d: value_of(sample, scale, is_best=d == best) for d, sample in own.items()}


def _against(sample: Sample, other: Sample | None, is_other: bool, scale: float) -> Cell:
    """Difference to a reference, and in how many pairs it is ahead."""
    if other is None or is_other:
        return "-"
    words = text_of(difference_of(sample, other, scale)) or "-"
    pairs = sample.pairs(other)
    return f"{words}; {pairs}" if pairs else words


def difference_of(sample: Sample, other: Sample | None, scale: float = 1.0) -> Cell:
    """Difference to a design with its interval, and up to where it goes; empty where there is none."""
    if other is None or sample.metric.is_reached or (found := sample.difference(other)) is None:
        return ""
    horizon = sample.shared_horizon(other)
    return number_of(found, scale, f"up to {sample.metric.amount(horizon)}" if math.isfinite(horizon) else "")
