"""Comparisons: what the designs' fields do, and what a target takes, as parts of a page.

Scope: pictures over one field, that with most values, where it is a number in every design; lines for what
else differs, six at most. What a run that missed a target counts as says `analysis.samples`.

Usage::

    values = to_targets(designs, (0.8, 0.9))
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from analysis.designs import Design, headlines
from analysis.intervals.statistics import Interval
from analysis.plots.factor import MOST_LINES, factor, lines_of, numeric_fields
from analysis.plots.pareto import Point, pareto, points, target_in_words
from analysis.plots.style import FEWEST_RUNS
from analysis.report.cells import Estimate, number
from analysis.report.numbers import measures_of
from analysis.report.page import Figure, Table
from analysis.report.pictures import panel, picture
from analysis.samples import Sample

_MOST_PICTURES = 4


def factors(designs: Sequence[Design]) -> dict[str, Any] | None:
    """Numbers of the designs over the field with most values; None where no number differs."""
    fields = numeric_fields(designs)
    if len(designs) < 2 or not fields:
        return None
    field, made, caption = fields[0], [], ""
    names = [name for name in lines_of(designs, field) if name][:MOST_LINES]
    shares = {f"final {measure.label}" for measure in headlines(designs).values() if measure.is_share}
    for place, (words, reading) in enumerate(measures_of(designs).items()):
        values = {value for design in designs for value in design.values(reading)}
        if words in ("global rounds", "versions") or len(values) < 2 or len(made) == _MOST_PICTURES:
            continue
        is_share = words in shares or words == "dropped updates (%)"
        draw = partial(
            factor, designs=designs, field=field, reading=reading, y_label=words, is_share=is_share
        )
        said = f"{words[:1].upper()}{words[1:]} over {field}."
        made.append(picture(draw, said=said, prefix=f"factor{place}-", size=panel(names)))
    if not made:
        return None
    if (num_lines := len(lines_of(designs, field))) > MOST_LINES:
        caption = f" Drawn: the first {MOST_LINES} of {num_lines} lines."
    if any(run.summary.is_diverged for design in designs for run in design.counted):
        caption = f" Crosses: training has diverged in a run there.{caption}"
    caption = (
        f"Over {field}, a line for what else differs. Bars: 95 % intervals of the means over runs; dots: the "
        f"runs, where a design has fewer than {FEWEST_RUNS}.{caption}"
    )
    return {"figure": Figure(made, caption)}


def to_targets(designs: Sequence[Design], targets: Sequence[float], held: int = 1) -> dict[str, Any] | None:
    """Time and energy to each target, as a picture and as a table; None without any."""
    if not targets:
        return None
    known = targets if headlines(designs) else ()
    return {"targets": [_to_target(designs, target, held, place) for place, target in enumerate(known)]}


def _to_target(designs: Sequence[Design], target: float, held: int, place: int) -> dict[str, Any]:
    found = points(designs, target, held)
    words, is_drawn = target_in_words(designs, target, held), any(point.is_drawn for point in found)
    rows = [
        [
            point.name,
            f"{point.time_s.reached_in_words} reached",
            *(_up_to(each) for each in (point.time_s, point.energy_j)),
            *(_interval(each.median) for each in (point.time_s, point.energy_j)),
        ]
        for point in found
    ]
    header = ["design", "runs", "mean time (s)", "mean energy (J)", "median time (s)", "median energy (J)"]
    missed = any(point.time_s.missed for point in found)
    meaning = (
        " Where a run missed, it counts as having taken the least that such a run of its design lasted, as "
        "do runs that took longer; so the mean itself is at least as large. "
        if missed
        else ""
    )
    return {
        "words": words,
        "is_reached": any(point.time_s.num_reached for point in found),
        "figure": _time_and_energy(
            lambda axes: pareto(axes, designs, target, held), found, words, f"pareto{place}-"
        )
        if is_drawn
        else None,
        "table": Table(f"To {words}, with 95 % intervals.{meaning} Medians need six runs.", header, rows),
    }


def _time_and_energy(draw: Callable[[Axes], Any], found: Sequence[Point], words: str, prefix: str) -> Figure:
    told = "; ".join(f"{p.name}: {p.place[0]:.4g} s, {p.place[1]:.4g} J" for p in found if p.is_drawn)
    said = f"Energy over time to {words}. {told}."
    made = picture(draw, said=said, prefix=prefix, size=(7.0, 4.4))
    about = (
        f"Bars: 95 % intervals, from {FEWEST_RUNS} runs on. Dotted: designs that no other beats in both. "
        "Hollow: some runs missed the target, so the design takes more. Grey: designs that are not named."
    )
    return Figure([made], f"To {words}. {about}", name=f"Time and energy to {words}")


def _up_to(sample: Sample) -> Estimate | str:
    """A mean, and up to where it goes where a run missed."""
    found, words = _interval(sample.value), sample.statistic.removeprefix("mean").strip()
    if math.isnan(sample.value.estimate):
        return words
    if not words:
        return found
    return f"{found} {words}" if isinstance(found, str) else found._replace(note=words)


def _interval(interval: Interval | None) -> Estimate | str:
    if interval is None:
        return "–"
    if interval.too_noisy or interval.low == interval.high:
        return number(interval.estimate)
    return Estimate(number(interval.estimate), (number(interval.low), number(interval.high)))
