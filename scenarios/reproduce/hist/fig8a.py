"""Fig. 8a of the HIST journal paper: accuracy over global rounds with latency-optimal sizes and without.

The runs are those of Fig. 8b.

    cosim reproduce hist-fig8a --quick
"""

from matplotlib.figure import Figure

from analysis.plots import curves
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.hist.fig8b import FOLDER, STEPS, accuracies, label, play
from scenarios.reproduce.hist.time_figures import (
    EQUAL,
    OPTIMAL,
    Options,
    mean_curve,
    over_seeds,
    table_of,
    write,
)

__all__ = ["Options", "main"]

FIGURE = "hist-fig8a"


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs = play(options)
    claims = []
    for num_steps in STEPS:
        loss = accuracies(runs[label(EQUAL, num_steps)]) - accuracies(runs[label(OPTIMAL, num_steps)])
        claims.append(
            Claim(
                f"H = {num_steps}: optimised sizes learn slightly slower per global round",
                f"equal sizes less optimised, mean over rounds: {over_seeds(loss, ' points', 100.0)}",
                bool(-0.01 <= loss.mean() <= 0.03),
            )
        )
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    axes = picture.subplots()
    lines = {name: (tables[0]["version"], mean_curve(tables, "accuracy")) for name, tables in runs.items()}
    curves(axes, lines, "global rounds")
    axes.set_ylim(55, 90)
    return write(FIGURE, FOLDER, options, table_of(runs, options), picture, claims)
