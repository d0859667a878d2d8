"""Fig. 5 of the HIST journal paper: upload per client that reaches a target accuracy, for N cells.

The target is 80 %, as in the paper; in the quick form 75 %. Where N is one of Fig. 4's, the runs are its own.

    cosim reproduce hist-fig5 --quick
"""

from itertools import pairwise

import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import bars
from scenarios.reproduce.claims import Claim, Reached, sooner
from scenarios.reproduce.figures import every_run, play_all, to_target
from scenarios.reproduce.hist import fig4
from scenarios.reproduce.hist.figures import SPLITS, Options, hist_and_hfedavg, uploads_to
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig5", fig4.FIGURE
NAMES = ("HIST", "HFedAvg")
DEGRADES = {"shards": (6, 8), "cell-iid": (8, 10)}
"""Between which N the paper has HIST's upload rise, by split."""


def main(options: Options) -> int:
    """Run, draw, compare."""
    target = 0.75 if options.quick else 0.80
    cells = (2, 4) if options.quick else (2, 4, 6, 8, 10)
    splits = options.splits
    of_fig4 = fig4.systems(options)
    systems = {
        label: of_fig4.get(label) or to_target(system, target)
        for label, system in hist_and_hfedavg(options, cells, splits, fig4.rounds(options)).items()
    }
    runs = play_all(FOLDER, systems, options)
    cost = {label: uploads_to(results, target) for label, results in runs.items()}
    claims = [claim for split in splits for claim in _claims(cost, cells, split, target)]
    table = pd.DataFrame(
        [
            {"curve": label, "seed": seed, "target": target, "uploads_per_client": taken}
            for label, of_seeds in cost.items()
            for seed, taken in zip(options.every_seed, of_seeds.taken, strict=True)
        ]
    )
    picture = _drawn(cost, cells, splits, target)
    return tell(FIGURE, options, claims, table, picture, every_run(runs), folder=FOLDER)


def _claims(cost: dict[str, Reached], cells: tuple[int, ...], split: str, target: float) -> list[Claim]:
    hist, hfedavg = ({n: cost[f"{name} N={n}, {split}"] for n in cells} for name in NAMES)
    to = f"to {100 * target:.0f} %, "
    less = [sooner(f"{to}N = {n}: HIST", hist[n], "HFedAvg", hfedavg[n], "uploads") for n in cells]
    to_six = [n for n in cells if n <= 6]
    falling = [
        sooner(f"N = {more}", hist[more], f"N = {fewer}", hist[fewer], "uploads")
        for fewer, more in pairwise(to_six)
    ]
    claims = [
        Claim(paper=f"{SPLITS[split]}: to 80 % HIST needs less upload than HFedAvg", quantities=less),
        Claim(paper=f"{SPLITS[split]}: HIST's upload falls from N = 2 to 6", quantities=falling),
    ]
    before, after = DEGRADES[split]
    if after in cells:
        rises = sooner(f"N = {before}", hist[before], f"N = {after}", hist[after], "uploads")
        paper = f"{SPLITS[split]}: HIST's upload rises at N = {after}"
        claims.append(Claim(paper=paper, quantities=[rises]))
    return claims


def _drawn(
    cost: dict[str, Reached], cells: tuple[int, ...], splits: tuple[str, ...], target: float
) -> Figure:
    figure = Figure(figsize=(5.0 * len(splits), 4.0), layout="constrained")
    for axes, split in zip(figure.subplots(1, len(splits), squeeze=False)[0], splits, strict=True):
        groups = {
            f"N = {n}": {name: cost[f"{name} N={n}, {split}"].interval for name in NAMES} for n in cells
        }
        bars(axes, groups, f"upload per client to {100 * target:.0f} % (whole models)")
        axes.set_title(SPLITS[split])
    return figure
