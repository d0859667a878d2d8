"""To a target: the time and the energy that it takes, as a part of a page.

Scope: what a run that missed a target counts as says `analysis.samples`.

Usage::

    values = to_targets(DrawnStudy(designs, (0.8, 0.9)))
"""

import math
from collections.abc import Sequence
from typing import Any

from analysis.designs import headlines
from analysis.intervals.statistics import Interval
from analysis.plots import DrawnStudy, pareto
from analysis.plots.amounts import Amounts
from analysis.report.cells import Estimate, number
from analysis.report.page import Figure, Table
from analysis.report.pictures import panels
from analysis.samples import Sample
from cosim.studies.table import target_label


def to_targets(study: DrawnStudy) -> dict[str, Any] | None:
    """Time and energy to each target, as a picture and as a table; None without any."""
    if not study.targets:
        return None
    known = study.targets if headlines(study.designs) else ()
    return {"targets": [_to_target(study, target, place) for place, target in enumerate(known)]}


def _to_target(study: DrawnStudy, target: float, place: int) -> dict[str, Any]:
    label, words = target_label(target, study.held), study.in_words(target)
    costs = [
        study.amounts[column]
        for column in (f"time_to_{label}_s", f"energy_to_{label}_j")
        if column in study.amounts
    ]
    times_s, energies_j = (own.by_design for own in costs) if costs else ({}, {})
    rows = [
        [
            name,
            f"{own.reached_in_words} reached",
            *(_up_to(each) for each in (own, energies_j[name])),
            *(_interval(each.median) for each in (own, energies_j[name])),
        ]
        for name, own in times_s.items()
    ]
    header = ["design", "runs", "mean time (s)", "mean energy (J)", "median time (s)", "median energy (J)"]
    meaning = (
        " Where a run missed, it counts as having taken the least that such a run of its design lasted, as "
        "do runs that took longer; so the mean itself is at least as large. "
        if any(own.missed for own in times_s.values())
        else ""
    )
    return {
        "words": words,
        "is_reached": any(own.num_reached for own in times_s.values()),
        "figure": _time_and_energy(study, costs, words, f"pareto{place}-") if _is_drawn(costs) else None,
        "table": Table(f"To {words}, with 95 % intervals.{meaning} Medians need six runs.", header, rows),
    }


def _is_drawn(costs: Sequence[Amounts]) -> bool:
    """True if a design has both means."""
    return bool(costs) and any(all(own.has_mean(name) for own in costs) for name in costs[0].by_design)


def _time_and_energy(study: DrawnStudy, costs: Sequence[Amounts], words: str, prefix: str) -> Figure:
    across, up = costs
    told = "; ".join(
        f"{name}: {own.estimate:.4g} s, {up.values[name].estimate:.4g} J"
        for name, own in across.values.items()
        if across.has_mean(name) and up.has_mean(name)
    )
    made = panels(
        study.encoding,
        lambda axes, designs: pareto(axes, designs, across, up, study.encoding),
        said=f"Energy over time to {words}. {told}.",
        prefix=prefix,
        width_in=6.8,
    )
    others = " Faint: the other designs." if len(study.encoding.facets) > 1 else ""
    about = f"{across.in_words()} Dotted: designs that no other beats in both.{others}"
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
