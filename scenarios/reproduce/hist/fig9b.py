"""Fig. 9b of the HIST journal paper: simulated time to 80 % of OMA and AirComp, HIST and HFedAvg, over SNR.

N = 4, H = 40, E = 5, processors of 2 to 4 GHz, equal sizes, grey levels in [0, 1] as in Fig. 9a. OMA learns
the same at every SNR and is only clocked again. The quick form has two SNR and a target of 60 %.

    cosim reproduce hist-fig9b --quick
"""

from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import cosim
from analysis.plots import style
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    OMA_HFEDAVG,
    OMA_HIST,
    Options,
    Runs,
    at_other_times,
    is_earlier,
    over_seeds,
    play_seeds,
    system,
    times_to_s,
    write,
)

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig9b", "hist-fig9"
ALGORITHMS = (OMA_HFEDAVG, AIR_HFEDAVG, OMA_HIST, AIR_HIST)


def main(options: Options) -> int:
    """Run, draw, compare."""
    levels_db = (0, 20) if options.quick else (-20, -10, 0, 10, 20)
    target = options.accuracy(0.6)

    def make(algorithm: str, snr_db: int, seed: int) -> cosim.System:
        return system(
            algorithm,
            seed,
            rounds(algorithm, options),
            snr_db=(float(snr_db),),
            alike=True,
            grey_levels="positive",
        )

    runs = play_seeds(
        FOLDER,
        {
            f"{name}, {snr_db} dB": lambda seed, name=name, snr_db=snr_db: make(name, snr_db, seed)
            for name in ALGORITHMS
            for snr_db in (levels_db if name in (AIR_HIST, AIR_HFEDAVG) else (20,))
        },
        options,
    )
    for name in (OMA_HFEDAVG, OMA_HIST):
        learned = runs[f"{name}, 20 dB"]
        for snr_db in levels_db:
            others = [make(name, snr_db, seed) for seed in options.every_seed]
            runs[f"{name}, {snr_db} dB"] = at_other_times(learned, others)
    time_s = {
        (name, snr_db): times_to_s(runs[f"{name}, {snr_db} dB"], target)
        for name in ALGORITHMS
        for snr_db in levels_db
    }
    claims = [fastest(runs, snr_db, target) for snr_db in levels_db]
    for name in ALGORITHMS:
        means = [time_s[name, snr_db].mean() for snr_db in levels_db]
        claims.append(
            Claim(
                f"{name}: the time falls as SNR rises",
                ", ".join(f"{level} dB {over_seeds(time_s[name, level], ' s')}" for level in levels_db),
                bool(np.isfinite(means[-1]) and all(a >= b for a, b in pairwise(means))),
            )
        )
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    axes = picture.subplots()
    for index, name in enumerate(ALGORITHMS):
        means = np.array([time_s[name, snr_db].mean() for snr_db in levels_db])
        axes.semilogy(levels_db, np.where(np.isfinite(means), means, np.nan), label=name, **style(index, 12))
    axes.set_xlabel("SNR (dB)")
    axes.set_ylabel(f"simulated time to {100 * target:.3g} % (s)")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    table = pd.DataFrame(
        [
            {"curve": name, "snr_db": snr_db, "seed": seed, "target": target, "time_s": value}
            for (name, snr_db), values in time_s.items()
            for seed, value in zip(options.every_seed, values, strict=True)
        ]
    )
    return write(FIGURE, FOLDER, options, table, picture, claims)


def rounds(algorithm: str, options: Options) -> int:
    """Global rounds: in the quick form fewer of HFedAvg, which learns the whole model in each."""
    return options.rounds(9 if algorithm in (OMA_HIST, AIR_HIST) else 5, 100)


def fastest(runs: Runs, snr_db: int, target: float) -> Claim:
    """AirComp-HIST against the three others, seed by seed."""
    played = {name: runs[f"{name}, {snr_db} dB"] for name in ALGORITHMS}
    return Claim(
        f"{snr_db} dB: AirComp-HIST is the fastest of the four",
        f"to {100 * target:.3g} % "
        + ", ".join(f"{name} {over_seeds(times_to_s(own, target), ' s')}" for name, own in played.items()),
        all(is_earlier(played[AIR_HIST], played[name], target) for name in ALGORITHMS if name != AIR_HIST),
        required=snr_db >= 0,
    )
