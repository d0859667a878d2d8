"""Plots that a paper could print: units on axes, legends, readable in grey.

Each function draws into an Axes; `overview` makes a figure. Designs come from `analysis.designs.designs_of`;
`DrawnStudy` has what their pictures share: one encoding, and the numbers of every metric.

Scope and limitations: what would be too much to read is thinned, and the picture says so: more than twelve
designs are drawn in facets, of many clients some have rows in a timeline, and of more than 200 it counts
clients instead.

Usage::

    with drawing():
        overview(Result.load("runs/a")).savefig("overview.png", dpi=150)

    study = DrawnStudy(designs_of(runs))
    figure, axes = plt.subplots(figsize=(3.5, 2.6), layout="constrained")
    model_over(axes, study.designs, study.encoding, "time_s")
"""

from analysis.plots.arrivals import arrivals
from analysis.plots.bars import MOST_BARS, ROW_IN, bars, energy, energy_parts, stacked
from analysis.plots.directions import directions
from analysis.plots.distribution import distribution
from analysis.plots.drawn_study import DrawnStudy
from analysis.plots.edge_rounds import late_picture, times_picture
from analysis.plots.encoding import COLOURS, Encoding, numeric_fields
from analysis.plots.facets import height_in, in_facets
from analysis.plots.factor import factor, lines_of
from analysis.plots.kinds import amounts_of, named, outcomes, outcomes_in_words
from analysis.plots.metric_bars import metric_bars
from analysis.plots.model import (
    AXES,
    Curve,
    curves,
    curves_of,
    ended_in_words,
    model_over,
    model_over_time,
    spread_in_words,
)
from analysis.plots.overview import overview
from analysis.plots.pareto import pareto
from analysis.plots.settings import drawing
from analysis.plots.states import states_picture
from analysis.plots.style import is_logarithmic, legend_height_in, style
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
    "MOST_BARS",
    "MOST_IN_ROWS",
    "MOST_ROWS",
    "ROW_IN",
    "Curve",
    "DrawnStudy",
    "Encoding",
    "amounts_of",
    "arrivals",
    "bars",
    "curves",
    "curves_of",
    "density",
    "directions",
    "distribution",
    "drawing",
    "ended_in_words",
    "energy",
    "energy_parts",
    "factor",
    "height_in",
    "in_facets",
    "is_logarithmic",
    "late_picture",
    "legend_height_in",
    "lines_of",
    "metric_bars",
    "model_over",
    "model_over_time",
    "named",
    "num_clients",
    "numeric_fields",
    "outcomes",
    "outcomes_in_words",
    "overview",
    "pareto",
    "round_picture",
    "spread_in_words",
    "stacked",
    "states_picture",
    "style",
    "telling_round",
    "timeline",
    "times_picture",
]
