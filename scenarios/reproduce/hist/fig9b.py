"""Fig. 9b of the HIST journal paper: simulated time to 80 % of OMA and AirComp, HIST and HFedAvg, over SNR.

N = 4, H = 40, E = 5, processors of 2 to 4 GHz, equal sizes, grey levels in [0, 1] as in Fig. 9a. OMA learns
the same at every SNR and is only clocked again. The text does not name the SNR; here they are Fig. 9a's. At
-10 and -20 dB HIST stays behind, so its runs are Fig. 9a's, and HFedAvg runs half as long as elsewhere. The
quick form has two SNR and a target of 50 %.

    cosim reproduce hist-fig9b --quick
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import cosim
from scenarios.reproduce.claims import HELD, Claim, Floats, Quantity, Reached, sooner
from scenarios.reproduce.figures import to_target
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    OMA_HFEDAVG,
    OMA_HIST,
    Options,
    at_other_times,
    at_snr,
    draw_times,
    drawn_as,
    play_tables,
    system,
    table_of_times,
    times_to,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig9b", "hist-fig9"
ALGORITHMS = (OMA_HFEDAVG, AIR_HFEDAVG, OMA_HIST, AIR_HIST)
HIST = (OMA_HIST, AIR_HIST)
OVER_THE_AIR = (AIR_HFEDAVG, AIR_HIST)
LOST_DB = (-20, -10)
"""Too noisy for HIST to come to 80 %."""


def main(options: Options) -> int:
    """Run, draw, compare."""
    levels_db = (0, 20) if options.quick else (-20, -10, 0, 10, 20)
    target = options.accuracy(0.5)

    def make(algorithm: str, snr_db: int, seed: int = options.seed) -> cosim.System:
        return system(
            algorithm,
            seed,
            rounds(algorithm, options, fewer=is_lost(algorithm, snr_db)),
            snr_db=(float(snr_db),),
            alike=True,
            grey_levels="positive",
        )

    played = {
        at_snr(name, snr_db): make(name, snr_db)
        if name in HIST and is_lost(name, snr_db)
        else to_target(make(name, snr_db), target)
        for name in ALGORITHMS
        for snr_db in (levels_db if name in OVER_THE_AIR else (20,))
    }
    tables, runs = play_tables(FOLDER, played, options)
    for name in (OMA_HFEDAVG, OMA_HIST):
        learned = tables[at_snr(name, 20)]
        for snr_db in levels_db:
            others = [make(name, snr_db, seed) for seed in options.every_seed]
            tables[at_snr(name, snr_db)] = at_other_times(learned, others)
    times = {label: times_to(of_seeds, target) for label, of_seeds in tables.items()}
    highest = {label: highest_of(of_seeds) for label, of_seeds in tables.items()}
    claims = [
        *(fastest(times, snr_db, target, required=not options.quick) for snr_db in levels_db),
        *(
            comes_there(highest, snr_db, target, rounds(AIR_HIST, options, fewer=True))
            for snr_db in levels_db
            if is_lost(AIR_HIST, snr_db)
        ),
    ]
    for name in ALGORITHMS:
        falling = [
            sooner(f"{high} dB", times[at_snr(name, high)], f"{low} dB", times[at_snr(name, low)], "s")
            for low, high in pairwise(levels_db)
        ]
        claims.append(Claim(paper=f"{name}: the time falls as SNR rises", quantities=falling))
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    axes = picture.subplots()
    lines = {name: [times[at_snr(name, snr_db)].taken for snr_db in levels_db] for name in ALGORITHMS}
    draw_times(axes, levels_db, lines, f"simulated time to {100 * target:.3g} % (s)")
    axes.set_xlabel("SNR (dB)")
    axes.legend(fontsize=8, title=drawn_as(options), title_fontsize=8)
    table = table_of_times(times, target, options).assign(
        highest_accuracy=np.concatenate(list(highest.values()))
    )
    return tell(FIGURE, options, claims, table, picture, runs, folder=FOLDER)


def is_lost(algorithm: str, snr_db: int) -> bool:
    """True if noise keeps it from the target; shares of the band have none."""
    return algorithm in OVER_THE_AIR and snr_db in LOST_DB


def rounds(algorithm: str, options: Options, *, fewer: bool = False) -> int:
    """Global rounds, at most: half as many of HFedAvg, which learns the whole model in each.

    Args:
        fewer: Half as many rounds, in the full form.
    """
    few, full = (5, 200) if algorithm in HIST else (3, 100)
    return options.rounds(few, full // 2 if fewer else full)


def fastest(times: Mapping[str, Reached], snr_db: int, target: float, *, required: bool) -> Claim:
    """AirComp-HIST against the three others, seed by seed."""
    own = {name: times[at_snr(name, snr_db)] for name in ALGORITHMS}
    return Claim(
        paper=f"{snr_db} dB: AirComp-HIST is the fastest of the four",
        quantities=[
            sooner(f"{100 * target:.3g} % after, {AIR_HIST}", own[AIR_HIST], name, own[name], "s")
            for name in ALGORITHMS
            if name != AIR_HIST
        ],
        is_required=required and snr_db >= 0,
    )


def comes_there(highest: Mapping[str, Floats], snr_db: int, target: float, num_rounds: int) -> Claim:
    """AirComp-HIST at the target at all, without which it has no time to it."""
    return Claim(
        paper=f"{snr_db} dB: AirComp-HIST comes to {100 * target:.3g} % (here: within K = {num_rounds})",
        quantities=[
            Quantity(
                words=f"highest accuracy held, {AIR_HIST}",
                values=100.0 * highest[at_snr(AIR_HIST, snr_db)],
                least=100.0 * target,
                unit="%",
            )
        ],
    )


def highest_of(tables: Sequence[pd.DataFrame]) -> Floats:
    """The highest accuracy that two evaluations in a row have held, shape (seeds,)."""
    return np.array([of_seed["accuracy"].rolling(HELD).min().max() for of_seed in tables])
