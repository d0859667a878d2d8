"""Comparisons: what the designs' fields do, and what a target takes, as parts of a page.

Scope: pictures over one field, that with most values, where it is a number in every design; lines for what
else differs, six at most. What a run that missed a target counts as says `analysis.targets`.

Usage::

    html = factors(designs) + to_targets(designs, (0.8, 0.9))
"""

from collections.abc import Sequence
from functools import partial

from analysis.designs import Design, headlines
from analysis.intervals.statistics import Interval
from analysis.plots.factor import MOST_LINES, factor, lines_of, numeric_fields
from analysis.plots.pareto import pareto, points, target_in_words
from analysis.plots.style import FEWEST_RUNS
from analysis.report.numbers import measures_of, number
from analysis.report.page import Markup, paragraph, table
from analysis.report.pictures import panel, panels, picture, wide

_MOST_PICTURES = 4


def factors(designs: Sequence[Design]) -> str:
    """Numbers of the designs over the field with most values; nothing where no number differs."""
    fields = numeric_fields(designs)
    if len(designs) < 2 or not fields:
        return ""
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
        return ""
    if (num_lines := len(lines_of(designs, field))) > MOST_LINES:
        caption = f" Drawn: the first {MOST_LINES} of {num_lines} lines."
    if any(run.summary.is_diverged for design in designs for run in design.counted):
        caption = f" Crosses: training has diverged in a run there.{caption}"
    caption = (
        f"Over {field}, a line for what else differs. Bars: 95 % intervals of the means over runs; dots: the "
        f"runs, where a design has fewer than {FEWEST_RUNS}.{caption}"
    )
    return panels(made, caption)


def to_targets(designs: Sequence[Design], targets: Sequence[float], held: int = 1) -> str:
    """Time and energy to each target, as a picture and as a table; nothing without any."""
    if targets and not headlines(designs):
        return paragraph("No run was evaluated, so none reached a target.", "warning")
    return "\n".join(_to_target(designs, target, held, place) for place, target in enumerate(targets))


def _to_target(designs: Sequence[Design], target: float, held: int, place: int) -> str:
    found = points(designs, target, held)
    words = target_in_words(designs, target, held)
    rows = [
        [
            point.name,
            str(point.time_s),
            *(_interval(each.restricted_mean) for each in (point.time_s, point.energy_j)),
            *(_interval(each.median) for each in (point.time_s, point.energy_j)),
        ]
        for point in found
    ]
    header = ["design", "runs", "mean time (s)", "mean energy (J)", "median time (s)", "median energy (J)"]
    horizon_s, horizon_j = found[0].time_s.horizon, found[0].energy_j.horizon
    missed = any(point.time_s.num_reached < point.time_s.num_runs for point in found)
    meaning = (
        f" Means are restricted to a horizon that all designs share, {number(horizon_s)} s and "
        f"{number(horizon_j)} J: a run that took longer, or missed, counts as having taken as much. "
        if missed
        else ""
    )
    caption = f"To {words}, with 95 % intervals.{meaning} Medians need six runs."
    parts = [table(caption, header, rows)]
    if any(point.time_s.num_reached for point in found):
        told = "; ".join(
            f"{p.name}: {p.place[0]:.4g} s, {p.place[1]:.4g} J" for p in found if p.time_s.num_reached
        )
        said = f"Energy over time to {words}. {told}."
        made = picture(
            lambda axes: pareto(axes, designs, target, held),
            said=said,
            prefix=f"pareto{place}-",
            size=(7.0, 4.4),
        )
        about = (
            f"Bars: 95 % intervals, from {FEWEST_RUNS} runs on. Dotted: designs that no other beats in both. "
            "Hollow: some runs missed the target. Grey: designs that are not named."
        )
        parts.insert(0, wide(made, f"Time and energy to {words}", f"To {words}. {about}", small=True))
        for unit, of in (("s", [p.time_s for p in found]), ("J", [p.energy_j for p in found])):
            if missed and all(each.restricted_mean.estimate >= 0.999999 * each.horizon for each in of):
                words = (
                    f"In {unit} designs cannot be told apart: a run that missed the target ended at "
                    f"{number(of[0].horizon)} {unit}, and no run had reached it by then. Use "
                    "longer runs, or a target that all reach."
                )
                parts.insert(0, paragraph(words, "warning"))
    else:
        parts.insert(0, paragraph(f"No run reached {words}.", "warning"))
    return "\n".join(parts)


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    if interval.too_noisy or interval.low == interval.high:
        return number(interval.estimate)
    ends = f'<small class="ends">[{number(interval.low)}, {number(interval.high)}]</small>'
    return Markup(f"{number(interval.estimate)} {ends}")
