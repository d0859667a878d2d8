"""Plots that a paper could print: units on axes, legends, readable in grey.

Each function draws into an Axes; `overview` makes a figure. Designs come from `analysis.designs.designs_of`.

Scope and limitations: what would be too much to read is thinned, and the picture says so: of many designs all
curves are faint and six are named, of many clients some have rows in a timeline, and of more than 200 it
counts clients instead.

Usage::

    with drawing():
        overview(Result.load("runs/a")).savefig("overview.png", dpi=150)

    figure, axes = plt.subplots(figsize=(3.5, 2.6), layout="constrained")
    model_over(axes, designs_of(runs), "time_s")
"""

from analysis.plots.arrivals import arrivals
from analysis.plots.bars import MOST_BARS, bars, energy, energy_parts, stacked
from analysis.plots.directions import directions
from analysis.plots.factor import factor, numeric_fields
from analysis.plots.model import AXES, curves, model_over, model_over_time
from analysis.plots.overview import overview
from analysis.plots.pareto import pareto
from analysis.plots.settings import drawing
from analysis.plots.states import states_picture
from analysis.plots.style import COLOURS, LINES, MARKERS, is_logarithmic, legend_height_in, style
from analysis.plots.tallied import late_picture, times_picture
from analysis.plots.timeline import (
    MOST_IN_ROWS,
    MOST_ROWS,
    density,
    num_clients,
    round_picture,
    telling_round,
    timeline,
)

__all__ = [
    "AXES",
    "COLOURS",
    "LINES",
    "MARKERS",
    "MOST_BARS",
    "MOST_IN_ROWS",
    "MOST_ROWS",
    "arrivals",
    "bars",
    "curves",
    "density",
    "directions",
    "drawing",
    "energy",
    "energy_parts",
    "factor",
    "is_logarithmic",
    "late_picture",
    "legend_height_in",
    "model_over",
    "model_over_time",
    "num_clients",
    "numeric_fields",
    "overview",
    "pareto",
    "round_picture",
    "stacked",
    "states_picture",
    "style",
    "telling_round",
    "timeline",
    "times_picture",
]
