"""Claims: what a paper says of numbers, and what the seeds that were run say of it.

A claim names quantities, each with the range in which the paper has it. Each quantity has one value for each
seed, a difference between two designs on the same seed where two are compared, and an interval of its mean.

- comes out: every interval lies within its range;
- does not show: some interval lies outside of its range;
- too noisy: all else, so more seeds would say more;
- not run: there are no quantities yet, but a command that gives them.

The intervals of a claim hold together at 95 % (Bonferroni). A claim of a sign has the range above or below 0.

Scope and limitations: Student's t, so means over seeds (for ratios, means of logarithms) are taken as normal.
Values that are the same with every seed decide by themselves, as do values that no seed can change, but not 0
of an event that all of them may have missed.
"""

import math
from collections.abc import Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.intervals.statistics import (
    ROUNDING,
    Interval,
    difference,
    familywise,
    is_constant,
    t_interval,
)

Floats = NDArray[np.float64]

HELD = 2
"""Evaluations in a row at which a target must be reached, so that a single lucky one decides nothing."""

COMES_OUT, DOES_NOT_SHOW, TOO_NOISY = "comes out", "does not show", "too noisy"
NOT_RUN = "not run"


def worst(verdicts: Iterable[str]) -> str:
    """Verdict on all of several: does not show, where one does not; else too noisy, where one is."""
    found = {*verdicts, COMES_OUT}
    return next(verdict for verdict in (DOES_NOT_SHOW, TOO_NOISY, COMES_OUT) if verdict in found)


@attrs.frozen(kw_only=True)
class Found:
    """A quantity as it came out.

    Attributes:
        words: Its name.
        interval: Of its mean over the seeds.
        least: Lower end of the paper's range; minus infinity: none.
        most: Upper end.
        unit: Behind its numbers.
    """

    words: str
    interval: Interval
    least: float
    most: float
    unit: str

    @property
    def verdict(self) -> str:
        """Verdict, by where the interval lies."""
        if self.interval.too_noisy:
            return TOO_NOISY
        if self.least < self.interval.low and self.interval.high < self.most:
            return COMES_OUT
        is_outside = self.interval.high <= self.least or self.interval.low >= self.most
        return DOES_NOT_SHOW if is_outside else TOO_NOISY

    @property
    def in_words(self) -> str:
        """Name, estimate and ends, or why there are none."""
        found, unit = self.interval, self.unit and f" {self.unit}"
        if math.isnan(found.estimate):
            return f"{self.words}: {found.remark}"
        ends = "" if found.low == found.high else f" [{found.low:.3g}, {found.high:.3g}]"
        remark = f" ({found.remark})" if found.remark else ""
        return f"{self.words}: {found.estimate:.4g}{ends}{unit}{remark}"


@attrs.frozen(kw_only=True, eq=False)
class Quantity:
    """Quantity that a claim is about.

    Attributes:
        words: Its name.
        values: With each seed, shape (seeds,).
        least: Lower end of the range in which the paper has it.
        most: Upper end.
        unit: Behind its numbers.
        is_exact: No seed can change it, so one is enough.
        is_ratio: Its mean is the geometric one, so that a ratio and its inverse say the same.
        is_rare: It hangs on a rare event, so 0 with every seed says little.
    """

    words: str
    values: Floats = attrs.field(converter=lambda values: np.asarray(values, dtype=float))
    least: float = -math.inf
    most: float = math.inf
    unit: str = ""
    is_exact: bool = False
    is_ratio: bool = False
    is_rare: bool = False

    def found(self, level: float) -> Found:
        """The quantity at a level."""
        if self.is_ratio:
            logs = interval_of(np.log(self.values), level, is_exact=self.is_exact)
            ends = {end: math.exp(getattr(logs, end)) for end in ("estimate", "low", "high")}
            interval = attrs.evolve(logs, **ends)
        else:
            interval = interval_of(self.values, level, is_exact=self.is_exact)
        if self.is_rare and not self.values.any():
            remark = "with every seed, of an event that may be rare"
            interval = attrs.evolve(interval, too_noisy=True, remark=remark)
        return Found(
            words=self.words,
            interval=interval,
            least=self.least,
            most=self.most,
            unit=self.unit,
        )


def interval_of(values: Floats, level: float = 0.95, *, is_exact: bool = False) -> Interval:
    """Of the mean over seeds; flagged where they say too little, without width where all are the same."""
    if not np.isfinite(values).all():
        missing = int((~np.isfinite(values)).sum())
        remark = f"not known with {missing} of {len(values)} seeds"
        nothing = math.nan
        return Interval(
            estimate=nothing, low=nothing, high=nothing, level=level, too_noisy=True, remark=remark
        )
    if is_exact or (len(values) > 1 and is_constant(values)):
        one = float(values.mean())
        return Interval(estimate=one, low=one, high=one, level=level)
    if len(values) < 2:
        one = float(values[0])
        return Interval(estimate=one, low=one, high=one, level=level, too_noisy=True, remark="one seed")
    return t_interval(values, level)


@attrs.frozen(kw_only=True)
class Claim:
    """Claim of a paper, and the quantities that it is about.

    Attributes:
        paper: Its statement.
        quantities: All of which must lie in their ranges. None of them: not run.
        is_required: True if the command fails where it does not show.
        is_ours: Something that we hold our numbers against and the paper does not say.
        command: Command that runs what is not run.
        core_hours: Its cost, roughly.
    """

    paper: str
    quantities: Sequence[Quantity] = ()
    is_required: bool = False
    is_ours: bool = False
    command: str = ""
    core_hours: float = 0.0

    @property
    def found(self) -> list[Found]:
        """Each quantity, at a level at which all hold together."""
        level = familywise(max(1, len(self.quantities)))
        return [quantity.found(level) for quantity in self.quantities]

    @property
    def in_words(self) -> list[str]:
        """Quantities as they came out, or how they would."""
        if not self.quantities:
            return [f"{self.command}: about {self.core_hours:.2g} core-hours"]
        return [found.in_words for found in self.found]

    @property
    def verdict(self) -> str:
        """Verdict on all quantities together."""
        return worst(found.verdict for found in self.found) if self.quantities else NOT_RUN


def asked(least: float, most: float) -> str:
    """A range in words, ends rounded: "at least" and "at most" where the rounded end lies within."""
    low, high = (float(f"{end:.4g}") for end in (least, most))
    if math.isinf(least):
        return f"{'at most' if high < most else 'below'} {high:g}"
    if math.isinf(most):
        return f"{'at least' if low > least else 'above'} {low:g}"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def rising(what: str, names: Sequence[str], values: Sequence[ArrayLike], unit: str = "") -> list[Quantity]:
    """That each of several lies above the one before it, seed by seed.

    Args:
        what: Their name.
        names: Of each.
        values: Of each, shape (seeds,).
    """
    pairs = zip(names[:-1], names[1:], values[:-1], values[1:], strict=True)
    return [
        Quantity(
            words=f"{what}: {later} less {before}",
            values=difference(of_later, of_before),
            least=0.0,
            unit=unit,
        )
        for before, later, of_before, of_later in pairs
    ]


@attrs.frozen(eq=False)
class Reached:
    """Cost of each run of a design up to a target.

    Attributes:
        taken: Infinite where it missed, shape (seeds,).
        lasted: What each run took in all, shape (seeds,).
    """

    taken: Floats
    lasted: Floats

    @property
    def interval(self) -> Interval | None:
        """Of the mean, None where not all got there; of one seed without width."""
        if not np.isfinite(self.taken).all():
            return None
        return interval_of(self.taken)

    def in_words(self, unit: str = "") -> str:
        """How many got there, and the mean where all did."""
        num, own = int(np.isfinite(self.taken).sum()), len(self.taken)
        return f"{self.taken.mean():.3g}{unit and ' ' + unit}" if num == own else f"{num} of {own} reached"


def reached(curves: Sequence[tuple[ArrayLike, ArrayLike]], target: float, held: int = HELD) -> Reached:
    """Cost of runs until a score was at least a target, at `held` evaluations in a row.

    It counts from the first of them.

    Args:
        curves: Of each run, what it had taken at its evaluations, and the score there, each of shape
            (evaluations,).
    """
    taken, lasted = [], []
    for at, scores in curves:
        at, good = np.asarray(at, dtype=float), np.asarray(scores) >= target
        starts = [first for first in range(len(good) - held + 1) if good[first : first + held].all()]
        taken.append(at[starts[0]] if starts else math.inf)
        lasted.append(at[-1])
    return Reached(np.array(taken), np.array(lasted))


def sooner(name: str, own: Reached, other_name: str, other: Reached, unit: str) -> Quantity:
    """That a design takes less to a target than another: what that takes over its own, seed by seed.

    A run that missed counts as what it is known to have taken at least, what it had lasted. Where the other
    had not got there either by then, the ratio is unknown.
    """
    ratio = np.minimum(other.taken, other.lasted) / np.minimum(own.taken, own.lasted)
    ratio = np.where(np.isclose(ratio, 1.0, rtol=ROUNDING, atol=0.0), 1.0, ratio)
    is_unknown = ((own.taken > other.lasted) & np.isinf(other.taken)) | (
        (other.taken > own.lasted) & np.isinf(own.taken)
    )
    ratio[is_unknown] = math.nan
    told = f"{name} {own.in_words(unit)}, {other_name} {other.in_words(unit)}; the latter over the former"
    return Quantity(words=told, values=ratio, least=1.0, is_ratio=True)
