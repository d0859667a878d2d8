"""Fig. 9a of the HIST journal paper: AirComp-HIST over global rounds for several SNR, beside OMA-HIST.

N = 4, H = 40, E = 5, equal sizes. OMA is free of error, so its curve is the one without noise. Grey levels
are scaled to [0, 1]: noise on the weights of the first layer is multiplied by the pixels, and most are black,
0 here and -1 on the scale [-1, 1] of the authors' code; --grey-levels symmetric shows what that does.

    cosim reproduce hist-fig9a --quick
    cosim reproduce hist-fig9a --quick --grey-levels symmetric
"""

import attrs
import numpy as np
from matplotlib.figure import Figure

from analysis.plots import curves
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.hist import time_figures
from scenarios.reproduce.hist.time_figures import (
    AIR_HIST,
    OMA_HIST,
    GreyLevels,
    mean_curve,
    over_seeds,
    play_seeds,
    system,
    table_of,
    write,
)

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig9a", "hist-fig9"
CLEAN = "no noise (OMA)"
LAST = 3
"""Accuracies are means over the last rounds, since those with much noise oscillate."""


@attrs.frozen(kw_only=True)
class Options(time_figures.Options):
    """How much is run.

    Attributes:
        grey_levels: Pictures scaled to 0 to 1 (positive) or to -1 to 1 (symmetric).
    """

    grey_levels: GreyLevels = "positive"


def label(snr_db: int) -> str:
    """What a curve is called."""
    return f"AirComp, SNR {snr_db} dB"


def main(options: Options) -> int:
    """Run, draw, compare."""
    levels_db = (0, -10, -20) if options.quick else (20, 10, 0, -10, -20)
    rounds: int = options.rounds(25, 100)
    scale: GreyLevels = options.grey_levels
    name = "" if scale == "positive" else f" {scale}"
    makes = {
        CLEAN + name: lambda seed: system(
            OMA_HIST, seed, rounds, snr_db=(20.0,), alike=True, grey_levels=scale
        )
    } | {
        label(snr_db) + name: lambda seed, snr_db=snr_db: system(
            AIR_HIST, seed, rounds, snr_db=(float(snr_db),), alike=True, grey_levels=scale
        )
        for snr_db in levels_db
    }
    runs = {key.removesuffix(name): tables for key, tables in play_seeds(FOLDER, makes, options).items()}
    accuracy = {
        key: np.array([evaluations["accuracy"].iloc[-LAST:].mean() for evaluations in tables])
        for key, tables in runs.items()
    }
    required = scale == "positive"
    claims = []
    for snr_db in levels_db:
        loss = accuracy[CLEAN] - accuracy[label(snr_db)]
        tolerable = snr_db >= -10
        claims.append(
            Claim(
                f"{snr_db} dB: "
                + ("hardly less accurate than without noise" if tolerable else "visibly worse, oscillating"),
                f"{over_seeds(loss, ' points', 100.0)} less, mean of the last {LAST} of {rounds} rounds "
                + ("(at most 3)" if tolerable else "(more than 3)"),
                bool((loss <= 0.03).all() if tolerable else (loss > 0.03).all()),
                required=required,
            )
        )
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    lines = {key: (tables[0]["version"], mean_curve(tables, "accuracy")) for key, tables in runs.items()}
    curves(picture.subplots(), lines, "global rounds")
    figure = FIGURE if scale == "positive" else f"{FIGURE}-{scale}"
    return write(figure, FOLDER, options, table_of(runs, options), picture, claims)
