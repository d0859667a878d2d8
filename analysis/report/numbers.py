"""The numbers: one table of designs, each measure with its interval, and the differences between them.

A design's number is the mean over its counted runs, with Student's t interval, of shares on the logit (95 %
each, not jointly); of one run the number alone stands there. Differences to the reference, the first design
by default, are taken seed by seed.

Scope: a column that would be empty, or would say the same number of global rounds or versions in every row,
is left out.

Usage::

    values = numbers(designs_of(results), {id(run): Fates.of(run) for run in results})
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np

from analysis.designs import Design, Reading, headlines
from analysis.fates import Fates
from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import Interval, paired_difference, t_interval
from analysis.remarks import noted
from analysis.report.page import Table
from cosim.engine.store.results import Result
from cosim.records.rows import Measure
from cosim.units import prefixed

AllFates = Mapping[int, Fates]
"""The fates of each run, by `id`."""

_NOTHING = "–"


class Estimate(NamedTuple):
    """A number in a cell of a table, with its 95 % interval.

    Attributes:
        value: The estimate.
        ends: Ends of the interval; None where all runs are equal.
        note: What else a reader must know; may be empty.
    """

    value: str
    ends: tuple[str, str] | None
    note: str = ""


def numbers(designs: Sequence[Design], fates: AllFates, reference: Design | None = None) -> dict[str, Any]:
    """The table of designs, and that of their differences where seeds are shared.

    Args:
        reference: Design that differences are to. None means the first.
    """
    reference = reference or designs[0]
    measures = measures_of(designs)
    if any(own.is_known for own in fates.values()):
        measures["wasted energy (%)"] = lambda run: fates[id(run)].wasted_percent()
    rows = [
        [
            design.name,
            *(cell(design.values(m), is_share(words)) for words, m in measures.items()),
            len(design.counted),
        ]
        for design in designs
    ]
    caption = "Means over runs"
    if any(len(design.counted) > 1 for design in designs):
        caption += (
            ", with 95 % intervals (Student's t; of shares on the logit, within 0 and 100 %); where all "
            "runs are equal there is none"
        )
    remarks = {design.name: noted(design, "remark_on_times") for design in designs}
    differences = _differences(reference, designs, measures)
    about = f"Differences to {reference.name} on the same seeds, with 95 % intervals"
    about = f"{about} (paired; each on its own, not jointly)"
    return {
        "warnings": [f"{name}: {said}" for name, said in remarks.items() if said],
        "table": Table(caption, ["design", *measures, "runs"], rows),
        "differences": Table(about, ["design", *measures, "shared seeds"], differences)
        if differences
        else None,
    }


def number(value: float) -> str:
    """Four digits, or all of a large whole part."""
    if not math.isfinite(value):
        return "not finite"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def in_small_units(columns: Mapping[str, Reading], designs: Sequence[Design]) -> dict[str, Reading]:
    """The columns; times that are all below a millisecond in the unit that suits the longest."""

    def shown(words: str, reading: Reading) -> tuple[str, Reading]:
        values = (value for design in designs for value in design.values(reading))
        longest_s = max((abs(value) for value in values if value and math.isfinite(value)), default=1.0)
        if not re.search(r"\(s\b", words) or longest_s >= 1e-3:
            return words, reading
        scale, unit = prefixed(longest_s, "s")

        def scaled(run: Result) -> float | None:
            value = reading(run)
            return None if value is None else value / scale

        return re.sub(r"\(s\b", f"({unit}", words), scaled

    return dict(shown(words, reading) for words, reading in columns.items())


def is_share(words: str) -> bool:
    """True if a column holds shares, from 0 to 100 %."""
    return words.endswith("(%)")


def cell(values: Sequence[float | None], is_share: bool = False) -> Estimate | str:
    """The mean and its 95 % interval, or the one value.

    Args:
        is_share: The values lie from 0 to 100, and so do the ends of the interval.
    """
    known = [value for value in values if value is not None]
    if not known:
        return _NOTHING
    if broken := sum(not math.isfinite(value) for value in known):
        return f"not finite in {broken} of {len(known)}"
    if len(known) == 1:
        return number(known[0])
    if is_share and min(known) >= 0.0 and max(known) <= 100.0:
        found = share_interval(np.divide(known, 100.0))
        ends = (100.0 * end for end in (found.estimate, found.low, found.high))
        return _interval(attrs.evolve(found, **dict(zip(("estimate", "low", "high"), ends, strict=True))))
    return _interval(t_interval(known))


def _interval(interval: Interval) -> Estimate:
    ends = None if interval.too_noisy else (number(interval.low), number(interval.high))
    return Estimate(number(interval.estimate), ends)


def measures_of(designs: Sequence[Design]) -> dict[str, Reading]:
    """Columns of the table of runs."""
    measures: dict[str, Reading] = {
        "global rounds": lambda run: run.progress[0] if run.has_rounds else None,
        "versions": lambda run: None if run.has_rounds else run.progress[0],
        "simulated time (s)": lambda run: run.summary.time_s,
        **{f"final {of.label}": partial(_final, column, of) for column, of in headlines(designs).items()},
        "energy (J)": lambda run: run.summary.energy_j,
        "dropped updates (%)": _dropped_percent,
        "sent per client (Mbit)": lambda run: run.summary.bits_per_client / 1e6,
        "received per client (Mbit)": lambda run: run.summary.received_bits_per_client / 1e6 or None,
    }
    known = {
        name: {value for design in designs for value in design.values(measure)}
        for name, measure in measures.items()
    }
    for name in ("global rounds", "versions"):
        if len(designs) > 1 and len(known[name]) == 1:
            del measures[name]
    return {name: measure for name, measure in measures.items() if known[name] != {None}}


def _final(column: str, measure: Measure, run: Result) -> float | None:
    value = run.summary.scores.get(column)
    return None if value is None else measure.factor * value


def _dropped_percent(run: Result) -> float | None:
    return 100.0 * run.summary.num_dropped / run.summary.num_updates if run.summary.num_updates else None


def _differences(
    reference: Design, designs: Sequence[Design], measures: Mapping[str, Reading]
) -> list[list[object]]:
    rows = []
    for other in designs:
        if other is reference:
            continue
        a, b = reference.by_seed(), other.by_seed()
        shared = [seed for seed in a if seed in b]
        if len(shared) < 2:
            continue
        ends = [[(measure(a[s]), measure(b[s])) for s in shared] for measure in measures.values()]
        rows.append([other.name, *map(_difference, ends), len(shared)])
    return rows


def _difference(ends: Sequence[tuple[float | None, float | None]]) -> Estimate | str:
    a = [x for x, y in ends if x is not None and y is not None]
    b = [y for x, y in ends if x is not None and y is not None]
    if len(a) < 2 or not np.isfinite([*a, *b]).all():
        return _NOTHING
    return _interval(paired_difference(a, b))
