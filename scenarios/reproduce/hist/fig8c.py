"""Fig. 8c of the HIST journal paper: simulated time to 80 % for N cells, HIST with and without optimised
sizes, and HFedAvg.

60 clients, dealt as evenly as they go; E = 5, H = 20; the first half of the cells is slow. The quick form has
N = 2 and 4 and a target of 70 %.

    cosim reproduce hist-fig8c --quick
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import cosim
from analysis.plots import bars
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.hist.fig8b import shorter
from scenarios.reproduce.hist.time_figures import (
    EQUAL,
    OMA_HFEDAVG,
    OMA_HIST,
    OPTIMAL,
    Floats,
    Options,
    is_earlier,
    over_seeds,
    play_seeds,
    system,
    times_to_s,
    write,
)

__all__ = ["Options", "main"]

FIGURE = "hist-fig8c"
WITH, WITHOUT, WHOLE = "HIST w", "HIST w/o", "HFedAvg"


def main(options: Options) -> int:
    """Run, draw, compare."""
    cells = (2, 4) if options.quick else (2, 4, 6, 8)
    rounds, target = options.rounds(10, 120), options.accuracy(0.7)
    kinds: dict[str, tuple[str, cosim.SubmodelSizes]] = {
        WITH: (OMA_HIST, OPTIMAL),
        WITHOUT: (OMA_HIST, EQUAL),
        WHOLE: (OMA_HFEDAVG, EQUAL),
    }
    runs = play_seeds(
        FIGURE,
        {
            f"{name}, N={num_cells}": lambda seed, kind=kind, num_cells=num_cells: system(
                kind[0], seed, rounds, num_cells=num_cells, num_local_steps=20, sizes=kind[1]
            )
            for num_cells in cells
            for name, kind in kinds.items()
        },
        options,
    )
    time_s = {label: times_to_s(tables, target) for label, tables in runs.items()}
    claims = [shorter(num_cells, 20, options) for num_cells in cells]
    for num_cells in cells:
        played = [runs[f"{name}, N={num_cells}"] for name in kinds]
        found = [times_to_s(tables, target) for tables in played]
        claims.append(
            Claim(
                f"N = {num_cells}: HIST with optimised sizes is fastest, then HIST, then HFedAvg",
                f"{100 * target:.3g} % after "
                + ", ".join(
                    f"{name} {over_seeds(values, ' s')}" for name, values in zip(kinds, found, strict=True)
                ),
                is_earlier(played[0], played[1], target) and is_earlier(played[1], played[2], target),
            )
        )
    if not options.quick:
        for name, trend in (
            (WITH, "falls to N = 6"),
            (WITHOUT, "falls to N = 6"),
            (WHOLE, "rises from 6 to 8"),
        ):
            means = [time_s[f"{name}, N={num_cells}"].mean() for num_cells in cells]
            falls = means[0] > means[1] > means[2]
            claims.append(
                Claim(
                    f"{name}: the time {trend}",
                    ", ".join(f"N={n} {mean:.3g} s" for n, mean in zip(cells, means, strict=True)),
                    bool(falls if name != WHOLE else means[3] > means[2]),
                )
            )
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    groups = {
        f"N = {num_cells}": {name: finite(time_s[f"{name}, N={num_cells}"]) for name in kinds}
        for num_cells in cells
    }
    bars(picture.subplots(), groups, f"simulated time to {100 * target:.3g} % (s)")
    table = pd.DataFrame(
        [
            {"curve": label, "seed": seed, "target": target, "time_s": value}
            for label, values in time_s.items()
            for seed, value in zip(options.every_seed, values, strict=True)
        ]
    )
    return write(FIGURE, FIGURE, options, table, picture, claims)


def finite(values: Floats) -> float | None:
    """The mean over seeds; None where one did not get there."""
    return float(values.mean()) if np.isfinite(values).all() else None
