"""Fig. 8b of the HIST journal paper: accuracy over simulated time with latency-optimal sizes and without.

4 cells, E = 5; H = 20 and 40 stand for the paper's settings, which it does not name. The first half of the
cells is slow. Required: on the same channels no global round is longer with optimised sizes.

    cosim reproduce hist-fig8b --quick
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import cosim
from analysis.plots import curves
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.hist.time_figures import (
    EQUAL,
    OMA_HIST,
    OPTIMAL,
    Floats,
    Options,
    Runs,
    is_earlier,
    mean_curve,
    over_seeds,
    play_seeds,
    round_durations_s,
    system,
    table_of,
    times_to_s,
    write,
)

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig8b", "hist-fig8"
STEPS = (20, 40)
SIZES = (EQUAL, OPTIMAL)


def label(sizes: cosim.SubmodelSizes, num_steps: int) -> str:
    """What a curve is called."""
    return f"{'w' if sizes == OPTIMAL else 'w/o'} optimised sizes, H={num_steps}"


def play(options: Options) -> Runs:
    """HIST with both kinds of sizes, for each H."""
    rounds = options.rounds(12, 80)
    return play_seeds(
        FOLDER,
        {
            label(sizes, num_steps): lambda seed, sizes=sizes, num_steps=num_steps: system(
                OMA_HIST, seed, rounds, num_local_steps=num_steps, sizes=sizes
            )
            for num_steps in STEPS
            for sizes in SIZES
        },
        options,
    )


def accuracies(runs: Sequence[pd.DataFrame]) -> Floats:
    """Mean accuracy over the rounds, shape (seeds,)."""
    return np.array([evaluations["accuracy"].iloc[1:].mean() for evaluations in runs])


def shorter(num_cells: int, num_steps: int, options: Options) -> Claim:
    """Global rounds on the same channels and processors, timing only."""
    ratios = []
    for seed in range(options.seed, options.seed + 5):
        equal, optimal = (
            round_durations_s(
                system(OMA_HIST, seed, 20, num_cells=num_cells, num_local_steps=num_steps, sizes=sizes)
            )
            for sizes in SIZES
        )
        ratios.append(optimal / equal)
    longest, mean = np.max(ratios), np.mean(ratios, axis=1)
    return Claim(
        f"N = {num_cells}, H = {num_steps}: optimised sizes shorten the global rounds",
        f"to {over_seeds(mean, ' %', 100.0)} of equal sizes, 5 seeds; each at most {longest:.3g} times",
        bool(longest <= 1.0 + 1e-9 and mean.max() < 1.0),
        required=True,
    )


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs, target = play(options), options.accuracy(0.7)
    claims = [shorter(4, num_steps, options) for num_steps in STEPS]
    for num_steps in STEPS:
        equal, optimal = (runs[label(sizes, num_steps)] for sizes in SIZES)
        claims.append(
            Claim(
                f"H = {num_steps}: optimised sizes reach the accuracy earlier",
                f"{100 * target:.3g} % after {over_seeds(times_to_s(optimal, target), ' s')}, equal sizes "
                f"{over_seeds(times_to_s(equal, target), ' s')}",
                is_earlier(optimal, equal, target),
            )
        )
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    axes = picture.subplots()
    lines = {
        name: (mean_curve(tables, "time_s"), mean_curve(tables, "accuracy")) for name, tables in runs.items()
    }
    curves(axes, lines, "simulated time (s)")
    axes.set_ylim(55, 90)
    return write(FIGURE, FOLDER, options, table_of(runs, options), picture, claims)
