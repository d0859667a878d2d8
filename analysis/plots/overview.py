"""Overview: the picture that a run leaves in its folder, and the pictures that parts add to it.

The global model over simulated time, if anything was learned; the activities of clients in one round or
stretch; if nothing was learned, or with more than 200 clients, duration and cost of edge rounds and the
number of late updates; then the pictures that the parts of the system add
(`cosim.configuration.port.Port.pictures`), by the names below or as functions::

    class Tired(Presence):
        def pictures(self):
            return "presence", naps  # one of ours, and one of your own

    def naps(axes, result):
        axes.hist(result.spans["energy_j"])

A picture that cannot be drawn says why in its place.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.fates import keeps_clients
from analysis.plots.asynchronous import contributions_picture, staleness_picture, versions_picture
from analysis.plots.edge_rounds import energy_picture, late_picture, times_picture
from analysis.plots.model import model_over_time
from analysis.plots.rates import rates_picture
from analysis.plots.settings import drawing
from analysis.plots.states import states_picture
from analysis.plots.timeline import MOST_IN_ROWS, MOST_ROWS, num_clients, round_picture, telling_round
from cosim.results.result import Result

Drawing = Callable[[Axes, Result], Any]

PICTURES: Mapping[str, Drawing] = {
    "presence": states_picture,
    "rates": rates_picture,
    "late": late_picture,
    "staleness": staleness_picture,
    "contributions": contributions_picture,
}
"""Name -> picture that parts may bring."""

_PANEL_IN = (4.3, 4.0)
"""Width and height in inch of a panel."""
_MOST_IN_A_ROW = 3
_WIDE = 1.4
"""Width of the timeline over that of another panel."""
_ROW_IN, _FRAME_IN = 0.14, 1.7
"""Height of a client's row in the timeline, and of all else in it."""


@drawing({"legend.fontsize": 8})
def overview(result: Result) -> Figure:
    """The picture of a run, its panels of one height."""
    panels = _panels(result)
    rows = _in_rows(panels)
    widths = [[_WIDE if draw is round_of_run else 1.0 for draw in row] for row in rows]
    clients = num_clients(result)
    in_rows = round_of_run in panels and clients <= MOST_IN_ROWS
    height_in = max(_PANEL_IN[1], _FRAME_IN + _ROW_IN * min(clients, MOST_ROWS) if in_rows else 0.0)
    size = _PANEL_IN[0] * max(map(sum, widths)), height_in * len(rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(rows), 1)
    for place, (row, ratios) in enumerate(zip(rows, widths, strict=True)):
        cells = grid[place].subgridspec(1, len(row), width_ratios=ratios)
        for column, draw in enumerate(row):
            _drawn(figure.add_subplot(cells[column]), draw, result)
    return figure


def round_of_run(axes: Axes, result: Result) -> None:
    """The telling round of a run, or a stretch where it has none."""
    round_picture(axes, result, telling_round(result))


def _panels(result: Result) -> list[Drawing]:
    """The pictures of a run, each once."""
    learned, found = result.summary.headline is not None, []
    if learned:
        found.append(model_over_time)
    elif not result.has_rounds:
        found.append(versions_picture)
    if keeps_clients(result) or not len(result.tallies):
        found.append(round_of_run)
    if result.has_rounds and (not learned or num_clients(result) > MOST_IN_ROWS or len(result.tallies)):
        found += [times_picture, energy_picture, late_picture]
    for own in result.pictures:
        found.append(PICTURES.get(own, partial(_unknown, own)) if isinstance(own, str) else own)
    return list(dict.fromkeys(found))


def _unknown(name: str, _axes: Axes, _result: Result) -> None:
    raise ValueError(f"no picture is called {name}. Use one of {', '.join(PICTURES)}, or a function.")


def _in_rows(panels: Sequence[Drawing]) -> list[Sequence[Drawing]]:
    """Rows of at most three, as even as they go, the first ones shorter: they have the timeline."""
    number = math.ceil(len(panels) / _MOST_IN_A_ROW)
    ends = [len(panels) * row // number for row in range(number + 1)]
    return [panels[start:end] for start, end in pairwise(ends)]


def _drawn(axes: Axes, draw: Drawing, result: Result) -> None:
    """Draw a picture; what it raises is said in its place, as a run is worth more than its picture."""
    try:
        draw(axes, result)
    except Exception as error:  # a user's own function may raise anything
        words = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        axes.clear()
        axes.set_axis_off()
        axes.text(0.5, 0.5, words, ha="center", va="center", wrap=True, transform=axes.transAxes)
