"""Overview: the picture that a run leaves in its folder."""

from matplotlib.figure import Figure

from analysis.plots.asynchronous import asynchronous_overview
from analysis.plots.model import model_over_time
from analysis.plots.settings import drawing
from analysis.plots.tallied import tallied_overview
from analysis.plots.timeline import MOST_IN_ROWS, MOST_ROWS, num_clients, round_picture, telling_round
from cosim.engine.store.results import Result


@drawing({"legend.fontsize": 8})
def overview(result: Result) -> Figure:
    """The global model over simulated time, if anything was learned, and one global round.

    Of a run that keeps no rows of its clients: its edge rounds. Of one without rounds: its applied updates.
    """
    if len(result.tallies):
        return tallied_overview(result)
    if not result.has_rounds:
        return asynchronous_overview(result)
    clients = num_clients(result)
    rows = 0 if clients > MOST_IN_ROWS else min(clients, MOST_ROWS)
    learned = result.summary.headline is not None
    size = (11.0 if learned else 7.0, max(4.2, 1.8 + 0.16 * rows))
    figure = Figure(figsize=size, layout="constrained")
    if learned:
        left, right = figure.subplots(1, 2, width_ratios=(2, 3))
        model_over_time(left, result)
        left.set_box_aspect(0.85)
        left.set_anchor("N")
    else:
        right = figure.subplots()
    round_picture(right, result, telling_round(result))
    return figure
