"""Drawn study: the designs of a study as pictures take them, with one encoding and all their numbers.

A kind of picture is a function of axes, designs, an encoding, and of metrics as `Amounts`.

Usage::

    study = DrawnStudy(designs_of(runs), targets=(0.7,))
    factor(axes, study.designs, study.amounts["time_to_0.7_s"], "num_cells", study.encoding)
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import attrs

from analysis.designs import Design, headlines, runs_of
from analysis.metrics import metrics
from analysis.plots.amounts import Amounts
from analysis.plots.encoding import Encoding
from analysis.samples import samples
from cosim.studies.table import target_label


@attrs.frozen(eq=False)
class DrawnStudy:
    """Designs that are drawn together.

    Attributes:
        designs: All of them, in their order.
        targets: Targets of the headline, such as an accuracy of 0.8.
        held: Evaluations in a row at which one must be reached to count.
    """

    designs: Sequence[Design]
    targets: Sequence[float] = ()
    held: int = 1

    @cached_property
    def encoding(self) -> Encoding:
        """How each design looks."""
        return Encoding.of(self.designs)

    @cached_property
    def amounts(self) -> Mapping[str, Amounts]:
        """Column of a metric, as tables have it -> its samples; of metrics that a design has."""
        runs = runs_of(self.designs, self.targets, self.held)
        known = metrics(runs)
        runs.attrs = {}  # which pandas would copy with every step
        found = {column: samples(runs, metric) for column, metric in known.items()}
        said = {target_label(target, self.held): self.in_words(target) for target in self.targets}
        return {
            column: Amounts.of(
                {self.designs[number].name: own for number, own in of.items()},
                said.get(next(iter(of.values())).metric.target or "", ""),
            )
            for column, of in found.items()
            if of
        }

    def in_words(self, target: float) -> str:
        """A target as the headline says it, such as 70 % test accuracy."""
        measure = next(iter(headlines(self.designs).values()))
        value = f"{measure.factor * target:.4g}{' %' if measure.is_share else ''}"
        held = f" held for {self.held} evaluations" if self.held > 1 else ""
        return f"{value} {measure.words}{held}"

    @property
    def main(self) -> str:
        """Column of the metric that is drawn where none is asked for: the headline, or the time."""
        return next((column for column in headlines(self.designs) if column in self.amounts), "time_s")
