"""The global model over time, energy and bits, and the timeline of a global round, as parts of a page.

Points of a curve are means, over the runs, of the same version of the model, along both axes. Six lines can
be told apart in one picture; more designs go to further rows of pictures, all on the same axes.

Scope: at most 24 designs have curves and at most three a timeline; the page says which.

Usage::

    html = learning(designs) + timelines(designs, global_round=None)
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.designs import Design, headlines, seed_of
from analysis.intervals.statistics import t_interval
from analysis.plots import telling_round
from analysis.report.numbers import number
from analysis.report.page import details, paragraph, table
from analysis.report.pictures import AXES, Curve, curve_pictures, timeline_picture
from cosim.records import Measure

_MOST_LINES = 6
_MOST_CURVES = 24
_MOST_POINTS = 50
_MOST_TIMELINES = 3


def learning(designs: Sequence[Design]) -> str:
    """How good the global model was, in pictures and numbers."""
    parts = []
    for column, measure in headlines(designs).items():
        lines = [_curve(d, column) for d in designs if all(column in run.evaluations for run in d.counted)]
        lines = [line for line in lines if len(line.points)]
        if not lines:
            continue
        parts.append(_pictures(lines, column, measure))
        if len(lines) > _MOST_CURVES:
            left_out = f"{lines[_MOST_CURVES].name} to {lines[-1].name}"
            parts.append(
                paragraph(f"Drawn are the first {_MOST_CURVES} of {len(lines)} designs, without {left_out}.")
            )
        points = "\n".join(_points(line, measure) for line in lines)
        parts.append(details("The points of the curves", points))
    if not parts:
        return paragraph("Nothing was evaluated: timing only, or stopped before the first evaluation.")
    if any(len(design.counted) > 1 for design in designs):
        words = "Shaded: 95 % intervals of the mean over runs, version by version."
        parts.insert(0, paragraph(words))
    return "\n".join(parts)


def timelines(designs: Sequence[Design], global_round: int | None) -> str:
    """Who did what in a global round; of many designs, where least and where most was dropped."""
    chosen = list(designs)
    parts = []
    if len(designs) > _MOST_TIMELINES:
        shares = [_dropped_share(design) for design in designs]
        ends = {shares.index(min(shares)), shares.index(max(shares))}
        chosen = [designs[index] for index in sorted(ends)]
        which = "the designs with the smallest and the largest share of dropped updates"
        which = which if len(ends) > 1 else "the first design; the others dropped as large a share of updates"
        parts.append(paragraph(f"Drawn: {which}. All are in the tables."))
    for design in chosen:
        run = design.counted[0]
        played = telling_round(run) if global_round is None else global_round
        rounds = run.rounds[run.rounds["global_round"] == played]
        cells = rounds[rounds["level"] == "edge"]
        taken, arrived = int(cells["num_participants"].sum()), int(cells["num_arrived"].sum())
        caption = (
            f"{design.name}, seed {seed_of(run)}: global round {played}, {len(cells)} edge rounds, "
            f"{taken} updates asked for, {taken - arrived} dropped."
        )
        parts.append(timeline_picture(run, played, f"timeline{designs.index(design)}-", caption))
    return "\n".join(parts)


def _dropped_share(design: Design) -> float:
    asked = sum(run.summary.num_updates for run in design.counted)
    return sum(run.summary.num_dropped for run in design.counted) / asked if asked else 0.0


def _pictures(lines: Sequence[Curve], column: str, measure: Measure) -> str:
    """Rows of three pictures, of so many lines each as can be told apart."""
    drawn = lines[:_MOST_CURVES]
    shares = np.array_split(np.arange(len(drawn)), -(-len(drawn) // _MOST_LINES))
    return "\n".join(
        curve_pictures([drawn[index] for index in share], drawn, measure=measure, prefix=f"{column}{row}-")
        for row, share in enumerate(shares)
    )


def _curve(design: Design, column: str) -> Curve:
    """Means over the counted runs at the versions that all of them evaluated."""
    frames = [run.evaluations.set_index("version") for run in design.counted]
    common = sorted(set.intersection(*(set(frame.index) for frame in frames)))
    points = pd.DataFrame(index=pd.Index(common, name="version"))
    for name in AXES:
        points[name] = np.mean([frame.loc[common, name] for frame in frames], axis=0)
    values = np.array([frame.loc[common, column] for frame in frames], dtype=float)
    points["mean"] = values.mean(axis=0)
    points["low"] = points["high"] = points["mean"]
    for place, version in enumerate(common):
        if len(frames) > 1 and np.isfinite(values[:, place]).all():
            interval = t_interval(values[:, place])
            points.loc[version, ["low", "high"]] = interval.low, interval.high
    return Curve(design.name, points)


def _points(line: Curve, measure: Measure) -> str:
    factor = measure.factor
    header = [
        "version",
        "simulated time (s)",
        "energy (J)",
        "sent per client (Mbit)",
        measure.label,
    ]
    step = -(-len(line.points) // _MOST_POINTS)
    chosen = sorted({*range(0, len(line.points), step), len(line.points) - 1})
    rows = []
    for played, time_s, energy_j, bits, mean, low, high in line.points.iloc[chosen].itertuples(name=None):
        ends = f" [{number(factor * low)}, {number(factor * high)}]" if low < high else ""
        rows.append([played, *map(number, (time_s, energy_j, bits / 1e6)), number(factor * mean) + ends])
    which = "every evaluation" if step == 1 else f"every {step}th evaluation, and the last"
    return table(f"{line.name}: {which}", header, rows)
