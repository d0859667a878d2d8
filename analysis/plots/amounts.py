"""Amounts: samples of a metric on an axis, in one unit for all designs, with intervals and notes.

A design has a bar, the interval of its mean, from three runs on; of fewer each run has a dot. Where a run
missed a target, how many reached it stands at the point; where a design has no mean, at the edge.
"""

import math
from collections.abc import Mapping
from textwrap import wrap
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from analysis.intervals.statistics import Interval
from analysis.metrics import Metric, target_in_words
from analysis.plots.style import FEWEST_RUNS
from analysis.samples import Sample
from analysis.tables.contents import scaled

_SPREAD = 10.0
"""Ratio of the largest mean to the least from which on an axis is logarithmic."""
_SMALL = 7
_WIDTH = 34
"""Characters in a line at an axis."""


class Amounts(NamedTuple):
    """Samples of one metric as they are drawn.

    Attributes:
        by_design: Name of a design -> its sample; none where it has not the metric.
        values: Name of a design -> the interval of its mean.
        factor: From a value to the number that is drawn.
        words: What the axis is called, with its unit.
        is_logarithmic: True if the means span much, and are above zero.
    """

    by_design: Mapping[str, Sample]
    values: Mapping[str, Interval]
    factor: float
    words: str
    is_logarithmic: bool

    @property
    def metric(self) -> Metric:
        """The metric."""
        return next(iter(self.by_design.values())).metric

    @classmethod
    def of(cls, samples: Mapping[str, Sample], target: str = "") -> "Amounts":
        """Amount of a metric, from its samples (at least one), by the names of all designs of a study.

        Args:
            target: Name of its target; empty if it has none.
        """
        (metric, *_) = (sample.metric for sample in samples.values())
        values = {name: sample.value for name, sample in samples.items()}
        factor, words = scaled(metric, [*values.values()])
        if metric.target is not None:
            words = words.replace(target_in_words(metric.target), target, 1)
        known = [value.estimate for value in values.values() if math.isfinite(value.estimate)]
        is_wide = not metric.measure.is_share and bool(known) and 0.0 < _SPREAD * min(known) <= max(known)
        return cls(samples, values, factor, "\n".join(wrap(words, _WIDTH)), is_wide)

    def mean(self, name: str) -> float:
        """Number of a design that is drawn; NaN where it has none."""
        return self.factor * self.values[name].estimate if name in self.values else math.nan

    def has_mean(self, name: str) -> bool:
        """True if a design has a number that is drawn."""
        return math.isfinite(self.mean(name))

    def about(self, name: str) -> list[list[float]] | None:
        """Lengths of the bar below and above the number of a design; None where it has none."""
        if not self.has_mean(name) or self.by_design[name].num_runs < FEWEST_RUNS:
            return None
        own = self.values[name]
        below, above = own.estimate - own.low, own.high - own.estimate
        return [[self.factor * max(below, 0.0)], [self.factor * max(above, 0.0)]]

    def dots(self, name: str) -> list[float]:
        """Numbers of the runs of a design, where they are too few for an interval."""
        if name not in self.by_design or not 1 < self.by_design[name].num_runs < FEWEST_RUNS:
            return []
        return [self.factor * value for value in self.by_design[name].taken if math.isfinite(value)]

    def note(self, name: str) -> str:
        """How many runs of a design reached the target, such as "4 of 5", where one missed it."""
        own = self.by_design.get(name)
        return own.reached_in_words if own is not None and own.missed else ""

    @property
    def level(self) -> float:
        """Of the intervals."""
        return next(iter(self.values.values())).level

    def in_words(self) -> str:
        """Caption: what bars, dots and notes are."""
        numbers = sorted({sample.num_runs for sample in self.by_design.values()})
        runs = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        said = [f"Means over {runs} runs." if numbers[-1] > 1 else "One run each."]
        if numbers[-1] >= FEWEST_RUNS:
            said.append(f"Bars: {100 * self.level:.0f} % intervals, each for itself.")
        if numbers[0] < FEWEST_RUNS and numbers[-1] > 1:
            said.append("Dots: the runs, where they are too few for an interval.")
        missed = [sample for sample in self.by_design.values() if sample.missed]
        if missed:
            some = max(missed, key=lambda sample: sample.num_reached)
            said.append(
                f"“{some.reached_in_words}”: {some.num_reached} of {some.num_runs} runs reached the target; "
                "one that missed counts as the shortest run of its design that missed. Without a point, or "
                "none: no run was sooner than that."
            )
        return " ".join(said)


def annotate(axes: Axes, words: str, at: tuple[float, float], colour: str, **how: Any) -> None:
    """Small words beside a point."""
    shift = {"textcoords": "offset points", "xytext": (3, 3), "fontsize": _SMALL, "color": colour}
    axes.annotate(words, at, **(shift | how))
