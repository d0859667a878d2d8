"""The global model over time, energy and bits, as a part of a page.

Curves are means over the runs of a design on a common axis (`analysis.intervals.curves`).

Scope: of more than six designs six curves are named, the others faint; the page says which.

Usage::

    values = learning(designs)
"""

from collections.abc import Sequence
from typing import Any

from analysis.designs import Design, headlines
from analysis.plots.model import (
    AXES,
    MOST_NAMED,
    Curve,
    curves_of,
    draw,
    ended_in_words,
    named_among,
    spread_in_words,
)
from analysis.report.cells import number
from analysis.report.page import Figure, Table
from analysis.report.pictures import panel, picture
from cosim.records.rows import Measure

_MOST_POINTS = 50
_MOST_TABLES = 24


def learning(designs: Sequence[Design]) -> dict[str, Any]:
    """How good the global model was, in pictures and numbers."""
    found = []
    for column, measure in headlines(designs).items():
        drawn = {over: curves_of(designs, column, measure, over) for over in AXES}
        lines = drawn["time_s"]
        if not lines:
            continue
        pictures = [_picture(own, measure, over, f"{column}-{over}-") for over, own in drawn.items() if own]
        found.append(
            {
                "spread": spread_in_words(lines),
                "ended": ended_in_words(lines),
                "figure": Figure(pictures),
                "num_designs": len(lines),
                "points": [_points(line, measure) for line in lines[:_MOST_TABLES]],
                "rest": f", of the first {_MOST_TABLES} designs" if len(lines) > _MOST_TABLES else "",
            }
        )
    return {"headlines": found, "most_named": MOST_NAMED}


def _picture(lines: Sequence[Curve], measure: Measure, over: str, prefix: str) -> str:
    scale, words = AXES[over]
    last = "; ".join(
        f"{line.name}: {number(measure.factor * line.points['mean'].iloc[-1])} at "
        f"{line.points['at'].iloc[-1] / scale:.4g}"
        for line in named_among(lines, measure)
    )
    said = f"{measure.label[:1].upper()}{measure.label[1:]} over {words}. Last values: {last}."
    size = panel(line.name for line in named_among(lines, measure) if len(lines) > 1)
    return picture(lambda axes: draw(axes, lines, measure, over), said=said, prefix=prefix, size=size)


def _points(line: Curve, measure: Measure) -> Table:
    factor = measure.factor
    step = -(-len(line.points) // _MOST_POINTS)
    chosen = sorted({*range(0, len(line.points), step), len(line.points) - 1})
    rows = []
    for at, mean, low, high, num_running in line.points.iloc[chosen].itertuples(index=False, name=None):
        ends = f" [{number(factor * low)}, {number(factor * high)}]" if low < high else ""
        rows.append([number(at), number(factor * mean) + ends, f"{num_running:.0f} of {len(line.runs)}"])
    which = "every point" if step == 1 else f"one in {step} points, and the last"
    return Table(f"{line.name}: {which}", ["simulated time (s)", measure.label, "still running"], rows)
