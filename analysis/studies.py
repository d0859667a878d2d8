"""Studies read: tables of designs with intervals, and the difference that each design makes.

All designs have the same seeds, so the difference to a reference is taken seed by seed; its interval is
usually much shorter than the intervals of the two means. What the numbers are says `analysis.samples`.

Scope and limitations: runs that failed are left out and counted. A run whose training has diverged counts:
where a metric of it is no finite number, its design has no mean of that metric, nor a difference.

Usage::

    runs = load("studies/bandwidth")
    for row in compared(runs, reference=0):
        print(row.name, row.metric, row.value, row.note, row.difference)

Validation: tests/analysis/test_studies.py.
"""

import json
import math
from pathlib import Path

import attrs
import pandas as pd

from analysis.intervals.statistics import Interval
from analysis.metrics import metrics, with_shares
from analysis.pairs import Pairs
from analysis.samples import Sample, samples
from cosim.files.on_disk import place
from cosim.results.result import Result


@attrs.frozen(kw_only=True, eq=False)
class Comparison:
    """One metric of one design, beside a reference.

    Attributes:
        sample: The metric, seed by seed.
        reference: That of the reference; None for the reference itself, and where it lacks the metric.
    """

    sample: Sample
    reference: Sample | None

    @property
    def design(self) -> int:
        """Number of the design."""
        return self.sample.design

    @property
    def name(self) -> str:
        """Values of the design in words."""
        return self.sample.name

    @property
    def metric(self) -> str:
        """Column of the metric."""
        return self.sample.metric.column

    @property
    def statistic(self) -> str:
        """Name of what the value is, such as mean."""
        return self.sample.statistic

    @property
    def note(self) -> str:
        """Words that belong beside the value, such as 4 of 5."""
        return self.sample.note

    @property
    def num_runs(self) -> int:
        """Seeds that count."""
        return self.sample.num_runs

    @property
    def value(self) -> Interval:
        """The mean with its interval."""
        return self.sample.value

    @property
    def difference(self) -> Interval | None:
        """Mean difference to the reference on the same seeds (`Sample.difference`)."""
        if self.reference is None or self.sample.metric.is_reached:
            return None
        return self.sample.difference(self.reference)

    @property
    def horizon(self) -> float:
        """Up to where the difference goes; infinite where no run of both missed a target."""
        return math.inf if self.reference is None else self.sample.shared_horizon(self.reference)

    @property
    def pairs(self) -> Pairs | None:
        """Of a target, on how many seeds it took less than the reference."""
        return self.sample.pairs(self.reference) if self.reference else None


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


def compared(runs: pd.DataFrame, reference: int = 0) -> list[Comparison]:
    """Every metric that there is, of every design, beside the reference; design by design.

    What a target took is left out where no run of any design reached it: that none did says all.
    """
    rows: list[Comparison] = []
    for metric in metrics(runs).values():
        found = samples(runs, metric)
        if metric.in_all and not any(sample.num_reached for sample in found.values()):
            continue
        against = found.get(reference)
        rows += [
            Comparison(sample=sample, reference=None if design == reference else against)
            for design, sample in found.items()
        ]
    return sorted(rows, key=lambda row: row.design)


def reference_of(runs: pd.DataFrame) -> int:
    """Number of the design that differences are to.

    That of the study (`cosim.studies.reference`), of several the first one's; where none of its runs is
    complete, the first design that has one.
    """
    complete = runs.loc[runs["status"] == "complete", "design"]
    reference = int(runs.attrs.get("reference", runs["design"].min()))
    return int(complete.min()) if len(complete) and reference not in set(complete) else reference


def is_tight(runs: pd.DataFrame, precision: dict[str, float]) -> bool:
    """True if a design's intervals are as tight as asked: half width at most this share of the mean.

    Args:
        runs: The runs of one design.
        precision: Metric -> share. A metric that the runs do not have counts as tight, and one of which no
            number of seeds would make a mean.
    """
    known = metrics(runs)
    for column, share in precision.items():
        for sample in samples(runs, known[column]).values() if column in known else ():
            found = sample.value
            if math.isnan(found.estimate):
                continue
            if sample.num_runs < 2 or found.half_width > share * abs(found.estimate) + math.ulp(0.0):
                return False
    return True
