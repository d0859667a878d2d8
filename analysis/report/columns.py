"""Columns of the table of designs: the measures of runs, seed by seed (`analysis.samples`).

Usage::

    for words, column in columns_of(designs, fates).items():
        print(words, column.cell(0))
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from analysis.designs import Design, Reading, headlines, runs_of
from analysis.fates import Fates
from analysis.metrics import Metric, metrics
from analysis.report.cells import NOTHING, Estimate, estimate, number
from analysis.samples import Sample, samples
from cosim.records.measures import Measure
from cosim.results.result import Result

AllFates = Mapping[int, Fates]
"""The fates of each run, by `id`."""


class Column(NamedTuple):
    """A measure of designs.

    Attributes:
        samples: Number of a design -> the measure, seed by seed; a design that has none is left out.
        factor: From a value to the number that is shown.
    """

    samples: Mapping[int, Sample]
    factor: float = 1.0

    @property
    def is_same(self) -> bool:
        """True if it is the same in all runs of several designs."""
        values = {value for sample in self.samples.values() for value in sample.taken}
        return len(self.samples) > 1 and len(values) == 1

    def cell(self, design: int) -> Estimate | str:
        """The mean of a design with its interval, the one value, or why there is none."""
        if design not in self.samples:
            return NOTHING
        sample = self.samples[design]
        if sample.num_lost:
            return sample.note
        return estimate(sample.value, self.factor) if sample.num_runs > 1 else number(self.first(design))

    def difference(self, design: int, reference: int) -> Estimate | str:
        """The mean difference of a design to another on the same seeds, with its interval."""
        if design not in self.samples or reference not in self.samples:
            return NOTHING
        found = self.samples[design].difference(self.samples[reference])
        return NOTHING if found is None else estimate(found, self.factor)

    def first(self, design: int) -> float:
        """The number of the first run of a design."""
        return self.factor * float(self.samples[design].taken.iloc[0])


def columns_of(designs: Sequence[Design], fates: AllFates) -> dict[str, Column]:
    """The measures of designs, by their names; one that no design has is left out."""
    runs = runs_of(designs)
    known = metrics(runs)

    def of(column: str, factor: float = 1.0) -> Column:
        return Column(samples(runs, known[column]), factor)

    def read(words: str, reading: Reading, factor: float = 1.0, *, is_share: bool = False) -> Column:
        metric = Metric(
            words.replace(" ", "_"), Measure(words, higher_is_better=False, is_share=is_share), least=0.0
        )
        own = {place: _read(metric, place, design, reading) for place, design in enumerate(designs)}
        return Column({place: sample for place, sample in own.items() if sample.num_runs}, factor)

    def wasted_share(run: Result) -> float | None:
        percent = fates[id(run)].wasted_percent()
        return None if percent is None else percent / 100.0

    found = {
        "global rounds": read("global rounds", lambda run: run.progress[0] if run.has_rounds else None),
        "versions": read("versions", lambda run: None if run.has_rounds else run.progress[0]),
        "simulated time (s)": of("time_s"),
        **{f"final {own.label}": of(column, own.factor) for column, own in headlines(designs).items()},
        "energy (J)": of("energy_j"),
        "dropped updates (%)": of("dropped_share", 100.0),
        "sent per client (Mbit)": of("bits_per_client", 1e-6),
        "received per client (Mbit)": of("received_bits_per_client", 1e-6),
    }
    if any(own.is_known for own in fates.values()):
        found["wasted energy (%)"] = read("wasted energy", wasted_share, 100.0, is_share=True)
    if not any((sample.taken > 0.0).any() for sample in found["received per client (Mbit)"].samples.values()):
        del found["received per client (Mbit)"]
    return {words: column for words, column in found.items() if column.samples}


def _read(metric: Metric, place: int, design: Design, reading: Reading) -> Sample:
    """A measure of a design that is no column of the table of runs."""
    values = {seed: reading(run) for seed, run in design.by_seed().items()}
    taken = pd.Series({seed: value for seed, value in values.items() if value is not None}, dtype=float)
    kind = str(design.fields.get("protocol.kind", ""))
    return Sample(metric=metric, design=place, name=design.name, taken=taken, lasted=taken, protocol=kind)
