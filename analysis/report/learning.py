"""The global model over time, energy and bits, as a part of a page.

Curves are means over the runs of a design on a common axis (`analysis.intervals.curves`).

Scope: more than twelve designs have a panel for each value of a field (`analysis.plots.encoding`).

Usage::

    values = learning(DrawnStudy(designs))
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from analysis.designs import Design, headlines
from analysis.plots import DrawnStudy
from analysis.plots.model import AXES, Curve, curves_of, draw, ended_in_words, spread_in_words
from analysis.report.cells import number
from analysis.report.page import Figure, Table
from analysis.report.pictures import PANEL, panels
from cosim.records.measures import Measure

_MOST_POINTS = 50
_MOST_TABLES = 24


def learning(study: DrawnStudy) -> dict[str, Any]:
    """Quality of the global model, in pictures and numbers."""
    found = []
    for column, measure in headlines(study.designs).items():
        drawn = {over: curves_of(study.designs, column, measure, over) for over in AXES}
        lines = drawn["time_s"]
        if not lines:
            continue
        made = [
            _picture(study, own, measure, over, f"{column}-{over}-") for over, own in drawn.items() if own
        ]
        found.append(
            {
                "spread": spread_in_words(lines, study.encoding.most_in_a_panel),
                "ended": ended_in_words(lines, study.encoding.most_in_a_panel),
                "figures": [Figure(made)] if len(study.encoding.facets) == 1 else list(map(_wide, made)),
                "points": [_points(line, measure) for line in lines[:_MOST_TABLES]],
                "rest": f", of the first {_MOST_TABLES} designs" if len(lines) > _MOST_TABLES else "",
            }
        )
    return {"headlines": found}


def _wide(made: str) -> Figure:
    return Figure([made], name="Global model")


def _picture(study: DrawnStudy, lines: Sequence[Curve], measure: Measure, over: str, prefix: str) -> str:
    (scale, words), by_name = AXES[over], {line.name: line for line in lines}
    last = "; ".join(
        f"{line.name}: {number(measure.factor * line.points['mean'].iloc[-1])} at "
        f"{line.points['at'].iloc[-1] / scale:.4g}"
        for line in lines
    )

    def drawing(axes: Axes, designs: Sequence[Design]) -> None:
        own = [by_name[design.name] for design in designs if design.name in by_name]
        draw(axes, own, measure, over, study.encoding)

    said = f"{measure.label[:1].upper()}{measure.label[1:]} over {words}. Last values: {last}."
    return panels(study.encoding, drawing, said=said, prefix=prefix, width_in=PANEL[0])


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
