"""Metrics: what designs are compared by, with their words, units and logical ranges.

Every metric of ours is a column of the table of runs (`cosim.studies.table`), or follows from one: totals of
a run, scores of its last evaluation, as its task calls them, and for each target whether a run reached it and
what it took.

Usage::

    for column, metric in metrics(runs).items():
        print(column, metric.measure.words, metric.amount(0.584))
"""

import math
from typing import NamedTuple

import pandas as pd

from cosim.records.measures import Measure
from cosim.units import prefixed

MEASURES = {
    "time_s": Measure("simulated time (s)", higher_is_better=False),
    "energy_j": Measure("energy (J)", higher_is_better=False),
    "dropped_share": Measure("dropped updates", higher_is_better=False, is_share=True),
    "bits_per_client": Measure("sent per client (bit)", higher_is_better=False),
    "received_bits_per_client": Measure("received per client (bit)", higher_is_better=False),
}
"""Metric of every run -> its meaning; scores come besides, as the tasks of the runs call them."""


class Cost(NamedTuple):
    """Something that a target may take.

    Attributes:
        column: Column of the target, with a place for its label.
        in_all: Column of what a run took in all; one that missed the target took more than that.
        words: Its name, with a place for the target.
    """

    column: str
    in_all: str
    words: str


TO_TARGET = (
    Cost("time_to_{}_s", "time_s", "time to {} (s)"),
    Cost("energy_to_{}_j", "energy_j", "energy to {} (J)"),
    Cost("bits_per_client_to_{}", "bits_per_client", "sent per client to {} (bit)"),
    Cost("versions_to_{}", "last_version", "versions to {}"),
)
REACHED = "reached_{}"


VERSIONS = ("last_version", "global_rounds", "versions")
"""Columns that count versions; of these a report has the last two."""


class Metric(NamedTuple):
    """Something that designs are compared by.

    Attributes:
        column: Its name in files.
        measure: Its meaning.
        target: Label of the target that it belongs to, or None.
        in_all: Of what a target took, the column of what a run took in all; else None.
        least: No value is below this; -inf for no such bound.
    """

    column: str
    measure: Measure
    target: str | None = None
    in_all: str | None = None
    least: float = -math.inf

    @property
    def unit(self) -> str:
        """Unit of the column, if it stands at the end of the words."""
        words, bracket, unit = self.measure.words.rpartition(" (")
        return unit.removesuffix(")") if words and bracket and unit.endswith(")") else ""

    @property
    def name(self) -> str:
        """Its words without the unit."""
        return self.measure.words.removesuffix(f" ({self.unit})")

    @property
    def is_reached(self) -> bool:
        """True if it is the share of runs that reached a target."""
        return self.target is not None and self.in_all is None

    @property
    def is_of_versions(self) -> bool:
        """True if it counts versions, which every protocol makes by a rule of its own."""
        return (self.in_all or self.column) in VERSIONS

    @property
    def is_time(self) -> bool:
        """True if it is simulated time since the start, which ends where the run ends."""
        return "time_s" in (self.in_all, self.column)

    @property
    def is_cost(self) -> bool:
        """True if it is something that a run takes, which is never negative, and less of it is better."""
        return not self.measure.is_share and self.least == 0.0

    @property
    def kind(self) -> str:
        """One word for what a cost counts, such as energy."""
        kinds = {"time_s": "time", "energy_j": "energy", "last_version": "versions"}
        return kinds.get(self.in_all or self.column, "traffic")

    @property
    def range(self) -> tuple[float, float]:
        """Values that it may have: shares from 0 to 1, costs from 0 on; other scores any."""
        return (0.0, 1.0) if self.measure.is_share else (self.least, math.inf)

    def amount(self, value: float) -> str:
        """A value in words, such as 584 ms."""
        if self.measure.is_share:
            return f"{self.measure.factor * value:.4g} %"
        if self.is_of_versions:
            return f"{value:.4g} {'version' if value == 1.0 else 'versions'}"
        scale, unit = prefixed(value, self.unit)
        return f"{value / scale:.4g} {unit}".rstrip()


def metrics(runs: pd.DataFrame) -> dict[str, Metric]:
    """Metrics that runs can be compared by, by their columns."""
    scores = {name: Measure(*values) for name, values in runs.attrs.get("measures", {}).items()}
    found = [Metric(column, measure, least=0.0) for column, measure in MEASURES.items()]
    found += [Metric(column, measure) for column, measure in scores.items()]
    for label in runs.attrs.get("targets", ()):
        words = target_in_words(label)
        share = Measure(f"{words} reached", higher_is_better=True, is_share=True)
        found.append(Metric(REACHED.format(label), share, label))
        for cost in TO_TARGET:
            measure = Measure(cost.words.format(words), higher_is_better=False)
            found.append(Metric(cost.column.format(label), measure, label, cost.in_all, least=0.0))
    return {metric.column: metric for metric in found}


def with_shares(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs, with a column for the share of dropped updates."""
    return runs.assign(dropped_share=runs["num_dropped"] / runs["num_updates"])


def target_in_words(label: str) -> str:
    """A target as its columns call it, in words."""
    target, _, held = label.partition("_held_")
    return f"{target} held for {held} evaluations" if held else target
