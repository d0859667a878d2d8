"""Fig. 9b of the HIST journal paper: simulated time to 80 % of OMA and AirComp, HIST and HFedAvg, over SNR.

N = 4, H = 40, E = 5, processors of 2 to 4 GHz, equal sizes, grey levels in [0, 1] as in Fig. 9a. OMA learns
the same at every SNR and is only clocked again. The text says "all choices of SNR" and names none: asked of
the paper are 0, 10 and 20 dB; -10 and -20 dB, which Fig. 9a has as well, are ours. There AirComp-HIST stays
behind, so its runs are Fig. 9a's, and HFedAvg runs half as long as elsewhere.

As printed (eqs. 24 and 25) a client uses at most P / n_j^2 of its power P. With all of it the noise is that
of 20 lg n_j = 23.5 dB more, for 15 clients: -20 dB is 3.5 dB as printed. So the printed reading gives Fig.
9a, with its large oscillations at -20 dB, and 9b from 0 dB on; full power gives 9b at all five SNR, and
nothing oscillates. No reading gives both.

AirComp's time cannot fall with SNR here: a sum takes as long at any SNR, and with rate 0.01 and black at 0
noise helps a model that has been trained too little. --grey-levels symmetric asks this of AirComp-HIST alone,
with black at -1. The quick form has a target of 50 %, OMA at 0 and 20 dB, and AirComp at 20 dB.

    cosim reproduce hist-fig9b --quick
    cosim reproduce hist-fig9b --grey-levels symmetric --seeds 3
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import cosim
from scenarios.reproduce.claims import HELD, Claim, Floats, Quantity, Reached, sooner
from scenarios.reproduce.figures import to_target
from scenarios.reproduce.hist import time_figures
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    OMA_HFEDAVG,
    OMA_HIST,
    GreyLevels,
    at_other_times,
    at_snr,
    draw_times,
    drawn_as,
    run_tables,
    system,
    table_of_times,
    times_in,
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
FULL_POWER_DB = 20.0 * math.log10(60 / 4)
"""By how much all of a client's power is more than eqs. 24 and 25 let it use: n_j^2 times, n_j = 15."""
SYMMETRIC_CORE_HOURS = 0.6
"""Of three seeds at three SNR: some 60 global rounds each, of 2 to 3.5 s."""
STEP_DB = 20
"""Less than `FULL_POWER_DB`, so that OMA stands at an SNR at which it is faster than where it is asked."""


@attrs.frozen(kw_only=True)
class Options(time_figures.Options):
    """How much is run.

    Attributes:
        grey_levels: Pictures scaled to 0 to 1 (positive), or to -1 to 1 (symmetric) for AirComp-HIST alone.
    """

    grey_levels: GreyLevels = "positive"

    @property
    def levels_db(self) -> tuple[int, ...]:
        """SNR that are asked."""
        if self.quick:
            return 0, 20
        return (-20, -10, 0, 10, 20) if self.grey_levels == "positive" else (0, 10, 20)

    @property
    def air_levels_db(self) -> tuple[int, ...]:
        """The ones at which is sent over the air."""
        return (20,) if self.quick else self.levels_db

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Algorithms that are run."""
        return ALGORITHMS if self.grey_levels == "positive" else (AIR_HIST,)


def main(options: Options) -> int:
    """Run, draw, compare."""
    levels_db, target, scale = options.levels_db, options.accuracy(0.5), options.grey_levels
    name_of_scale = "" if scale == "positive" else f" {scale}"

    def make(algorithm: str, snr_db: int, seed: int = options.seed) -> cosim.System:
        return system(
            algorithm,
            seed,
            rounds(algorithm, options, fewer=is_lost(algorithm, snr_db)),
            snr_db=(float(snr_db),),
            alike=True,
            grey_levels=scale,
        )

    asked = {
        at_snr(name, snr_db): make(name, snr_db)
        if name in HIST and is_lost(name, snr_db)
        else to_target(make(name, snr_db), target)
        for name in options.algorithms
        for snr_db in (options.air_levels_db if name in OVER_THE_AIR else (20,))
    }
    of_label, runs = run_tables(FOLDER, {label + name_of_scale: own for label, own in asked.items()}, options)
    tables = {label: of_label[label + name_of_scale] for label in asked}
    for name in (own for own in (OMA_HFEDAVG, OMA_HIST) if own in options.algorithms):
        learned = tables[at_snr(name, 20)]
        for snr_db in levels_db:
            others = [make(name, snr_db, seed) for seed in options.every_seed]
            tables[at_snr(name, snr_db)] = at_other_times(learned, others)
    times = {label: times_to(of_seeds, target) for label, of_seeds in tables.items()}
    highest = np.concatenate([highest_of(of_seeds) for of_seeds in tables.values()])
    table = table_of_times(times, target, options).assign(highest_accuracy=highest)
    picture = Figure(figsize=(5.4, 4.0), layout="constrained")
    axes = picture.subplots()
    missing = Reached(np.array([math.inf]), np.array([math.inf]))
    lines = {
        name: [times.get(at_snr(name, snr_db), missing).taken for snr_db in levels_db]
        for name in options.algorithms
    }
    draw_times(axes, levels_db, lines, f"simulated time to {100 * target:.3g} % (s)")
    axes.set_xlabel("SNR (dB)")
    axes.legend(fontsize=8, title=drawn_as(options), title_fontsize=8)
    figure = FIGURE if scale == "positive" else f"{FIGURE}-{scale}"
    return tell(figure, options, claims_in(table, options), table, picture, runs, folder=FOLDER)


def claims_in(table: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by the times in the figure's table."""
    times, target, air_db = times_in(table), options.accuracy(0.5), options.air_levels_db
    asked_db, own_db = ([n for n in options.levels_db if (n >= 0) is is_asked] for is_asked in (True, False))
    falling = [
        Claim(
            paper=f"{name}: the time falls as SNR rises, from {over[0]} to {over[-1]} dB",
            quantities=[
                sooner(f"{high} dB", times[at_snr(name, high)], f"{low} dB", times[at_snr(name, low)], "s")
                for low, high in pairwise(over)
            ],
            is_ours=over[0] < 0,
        )
        for over in (asked_db, [*own_db, asked_db[0]])
        for name in options.algorithms
        if len(over) > 1 and not (options.quick and name in OVER_THE_AIR)
    ]
    if options.algorithms != ALGORITHMS:
        return falling
    highest = {str(curve): rows["highest_accuracy"].to_numpy() for curve, rows in table.groupby("curve")}
    lost = rounds(AIR_HIST, options, fewer=True)
    symmetric = Claim(
        paper=f"{AIR_HIST}, black at -1: the time falls as SNR rises, from 0 to 20 dB",
        is_ours=True,
        command=f"cosim reproduce {FIGURE} --grey-levels symmetric --seeds 3",
        core_hours=SYMMETRIC_CORE_HOURS,
    )
    return [
        *(fastest(times, snr_db, target, required=not options.quick) for snr_db in air_db),
        *(comes_there(highest, snr_db, target, lost) for snr_db in own_db),
        *falling,
        *(at_full_power(times, snr_db, target) for snr_db in air_db if snr_db - STEP_DB in options.levels_db),
        *([] if options.quick else [symmetric]),
    ]


def is_lost(algorithm: str, snr_db: int) -> bool:
    """True if noise keeps it from the target; shares of the band have none."""
    return algorithm in OVER_THE_AIR and snr_db in LOST_DB


def rounds(algorithm: str, options: time_figures.Options, *, fewer: bool = False) -> int:
    """Global rounds, at most: half as many of HFedAvg, which learns the whole model in each.

    Args:
        fewer: Half as many rounds, in the full form.
    """
    few, full = (5, 200) if algorithm in HIST else (3, 100)
    return options.rounds(few, full // 2 if fewer else full)


def ahead_of(own: Mapping[str, Reached], target: float) -> list[Quantity]:
    """That AirComp-HIST takes less time than each of the three others, seed by seed."""
    return [
        sooner(f"{100 * target:.3g} % after, {AIR_HIST}", own[AIR_HIST], name, own[name], "s")
        for name in ALGORITHMS
        if name != AIR_HIST
    ]


def fastest(times: Mapping[str, Reached], snr_db: int, target: float, *, required: bool) -> Claim:
    """AirComp-HIST against the three others; ours below 0 dB."""
    is_ours = snr_db < 0
    return Claim(
        paper=f"{snr_db} dB: AirComp-HIST is the fastest of the four",
        quantities=ahead_of({name: times[at_snr(name, snr_db)] for name in ALGORITHMS}, target),
        is_required=required and not is_ours,
        is_ours=is_ours,
    )


def at_full_power(times: Mapping[str, Reached], snr_db: int, target: float) -> Claim:
    """The same with all of the clients' power, where noise over the air is that of an SNR as printed.

    OMA stands at an SNR that is higher than the one asked, where it is faster.
    """
    oma_db = snr_db - STEP_DB
    own = {name: times[at_snr(name, snr_db if name in OVER_THE_AIR else oma_db)] for name in ALGORITHMS}
    return Claim(
        paper=f"all of the power, {snr_db - FULL_POWER_DB:.1f} dB: AirComp-HIST is the fastest of the four "
        f"(AirComp as printed at {snr_db} dB, OMA at {oma_db} dB)",
        quantities=ahead_of(own, target),
        is_ours=True,
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
        is_ours=True,
    )


def highest_of(tables: Sequence[pd.DataFrame]) -> Floats:
    """The highest accuracy held by two consecutive evaluations, shape (seeds,)."""
    return np.array([of_seed["accuracy"].rolling(HELD).min().max() for of_seed in tables])
