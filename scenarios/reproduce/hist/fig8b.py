"""Fig. 8b of the HIST journal paper: accuracy over simulated time with latency-optimal sizes and without.

4 cells, E = 5; H = 20 and 40 stand for the paper's settings, which it does not name. The first half of the
cells is slow. Required: on the same channels no global round is longer with optimised sizes.

    cosim reproduce hist-fig8b --quick
"""

import numpy as np
from matplotlib.figure import Figure

import cosim
from analysis.plots import curves
from scenarios.reproduce.claims import Claim, Quantity, sooner
from scenarios.reproduce.hist.time_figures import (
    EQUAL,
    OMA_HIST,
    OPTIMAL,
    Options,
    Tables,
    points_of,
    round_durations_s,
    run_tables,
    system,
    table_of,
    times_to,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig8b", "hist-fig8"
STEPS = {20: 120, 40: 80}
"""Local steps H -> global rounds of the full form, enough to hold 80 %."""
SIZES = (EQUAL, OPTIMAL)
ROUNDING = 1e-9


def label(sizes: cosim.protocols.SubmodelSizes, num_steps: int) -> str:
    """Name of a curve."""
    return f"{'w' if sizes == OPTIMAL else 'w/o'} optimised sizes, H={num_steps}"


def run_curves(options: Options) -> tuple[Tables, list[cosim.Result]]:
    """HIST with both kinds of sizes, for each H."""
    return run_tables(
        FOLDER,
        {
            label(sizes, num_steps): system(
                OMA_HIST, options.seed, options.rounds(8, rounds), num_local_steps=num_steps, sizes=sizes
            )
            for num_steps, rounds in STEPS.items()
            for sizes in SIZES
        },
        options,
    )


def shorter(num_cells: int, num_steps: int, options: Options) -> Claim:
    """Global rounds on the same channels and processors, timing only, over at least 5 seeds."""
    mean, longest = [], 0.0
    for seed in range(options.seed, options.seed + max(5, len(options.every_seed))):
        equal, optimal = (
            round_durations_s(
                system(OMA_HIST, seed, 20, num_cells=num_cells, num_local_steps=num_steps, sizes=sizes)
            )
            for sizes in SIZES
        )
        mean.append(100.0 * float(np.mean(optimal / equal)))
        longest = max(longest, float(np.max(optimal / equal)))
    return Claim(
        paper=f"N = {num_cells}, H = {num_steps}: optimised sizes shorten the global rounds",
        quantities=[
            Quantity(words=f"mean, {len(mean)} seeds, to", values=mean, most=100.0, unit="% of equal sizes"),
            Quantity(
                words="the longest of all rounds, over that of equal sizes",
                values=[longest],
                most=1.0 + ROUNDING,
                is_exact=True,
            ),
        ],
        is_required=True,
    )


def main(options: Options) -> int:
    """Run, draw, compare."""
    (tables, runs), target = run_curves(options), options.accuracy(0.65)
    claims = [shorter(4, num_steps, options) for num_steps in STEPS]
    for num_steps in STEPS:
        equal, optimal = (times_to(tables[label(sizes, num_steps)], target) for sizes in SIZES)
        words = f"{100 * target:.3g} % after, optimised"
        claims.append(
            Claim(
                paper=f"H = {num_steps}: optimised sizes reach the accuracy earlier",
                quantities=[sooner(words, optimal, "equal", equal, "s")],
            )
        )
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    axes = picture.subplots()
    curves(axes, points_of(tables, "time_s"), "simulated time (s)")
    axes.set_ylim(55, 90)
    return tell(FIGURE, options, claims, table_of(tables, options), picture, runs, folder=FOLDER)
