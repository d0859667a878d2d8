"""Fig. 8a of the HIST journal paper: accuracy over global rounds with latency-optimal sizes and without.

The runs are Fig. 8b's. "Slightly" stands for up to 3 points of accuracy. The quick form asks only whether it
is no more; that there is a difference takes more seeds.

    cosim reproduce hist-fig8a --quick
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import curves
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.hist.fig8b import FOLDER, STEPS, label, run_curves
from scenarios.reproduce.hist.time_figures import EQUAL, OPTIMAL, Options, points_of, table_of
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "hist-fig8a"
SLIGHTLY = 3.0


def accuracies(tables: Sequence[pd.DataFrame]) -> Floats:
    """Mean accuracy over the rounds in per cent, shape (seeds,)."""
    return 100.0 * np.array([evaluations["accuracy"].iloc[1:].mean() for evaluations in tables])


def main(options: Options) -> int:
    """Run, draw, compare."""
    tables, runs = run_curves(options)
    how, least = ("at most slightly", -math.inf) if options.quick else ("slightly", 0.0)
    claims = [
        Claim(
            paper=f"H = {num_steps}: optimised sizes learn {how} slower per global round",
            quantities=[
                Quantity(
                    words="mean accuracy over the rounds, equal sizes less optimised",
                    values=accuracies(tables[label(EQUAL, num_steps)])
                    - accuracies(tables[label(OPTIMAL, num_steps)]),
                    least=least,
                    most=SLIGHTLY,
                    unit="points",
                )
            ],
        )
        for num_steps in STEPS
    ]
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    axes = picture.subplots()
    curves(axes, points_of(tables, "version"), "global rounds")
    axes.set_ylim(55, 90)
    return tell(FIGURE, options, claims, table_of(tables, options), picture, runs, folder=FOLDER)
