"""Fig. 5 of the HIST journal paper: upload per client that reaches a target accuracy, for N cells.

The target is 80 %, as in the paper; in the quick form 65 %, to which few rounds do not tell how HFedAvg's
upload changes with N. Where N is one of Fig. 4's, the runs are its own.

    cosim reproduce hist-fig5 --quick
"""

import pandas as pd

from scenarios.reproduce.claims import Claim, sooner
from scenarios.reproduce.figures import every_run, run_all, to_target
from scenarios.reproduce.hist import fig4
from scenarios.reproduce.hist.figures import SPLITS, Options, hist_and_hfedavg
from scenarios.reproduce.hist.upload_costs import (
    Costs,
    advantage,
    by_cells,
    costs_in,
    costs_of,
    drawn,
    less_and_less,
    less_than_hfedavg,
    table_of,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig5", fig4.FIGURE
DEGRADES = {"shards": (6, 8), "cell-iid": (8, 10)}
"""Between which N the paper has HIST's upload rise, by split."""
DROPOUT = Claim(
    paper="with the dropout of the authors' code: HIST gets worse at N = 8",
    is_ours=True,
    command="cosim reproduce hist-fig5-dropout",
    core_hours=0.7,
)


def main(options: Options) -> int:
    """Run, draw, compare."""
    target, cells, splits = target_of(options), numbers_of_cells(options), options.splits
    of_fig4 = fig4.systems(options)
    systems = {
        label: of_fig4.get(label) or to_target(system, target)
        for label, system in hist_and_hfedavg(options, cells, splits, fig4.rounds(options)).items()
    }
    runs = run_all(FOLDER, systems, options)
    costs = costs_of(runs, target)
    table = table_of(costs, target, options)
    picture = drawn(costs, cells, splits, target)
    claims = claims_in(table, options)
    return tell(FIGURE, options, claims, table, picture, every_run(runs), folder=FOLDER)


def target_of(options: Options) -> float:
    """Accuracy that is to be reached."""
    return 0.65 if options.quick else 0.80


def numbers_of_cells(options: Options) -> tuple[int, ...]:
    """Numbers of cells that are run."""
    return (2, 4) if options.quick else (2, 4, 6, 8, 10)


def claims_in(table: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by the costs in the figure's table; in the full form also what another network shows."""
    costs, cells, target = costs_in(table), numbers_of_cells(options), target_of(options)
    claims = [claim for split in options.splits for claim in _claims(costs, cells, split, target)]
    return claims if options.quick else [*claims, DROPOUT]


def _claims(costs: Costs, cells: tuple[int, ...], split: str, target: float) -> list[Claim]:
    hist = by_cells(costs, "HIST", cells, split)
    less = less_than_hfedavg(costs, cells, split, target)
    falling = less_and_less(hist, [n for n in cells if n <= 6])
    claims = [
        Claim(paper=f"{SPLITS[split]}: to 80 % HIST needs less upload than HFedAvg", quantities=less),
        Claim(paper=f"{SPLITS[split]}: HIST's upload falls from N = 2 to 6", quantities=falling),
    ]
    if split == "shards" and 6 in cells:
        hfedavg = by_cells(costs, "HFedAvg", cells, split)
        rising = less_and_less(hfedavg, [n for n in cells[::-1] if n <= 6])
        claims.append(
            Claim(
                paper=f"{SPLITS[split]}: HFedAvg's upload, in stark contrast, rises from N = 2 to 6",
                quantities=rising,
            )
        )
    claims.append(
        Claim(
            paper=f"{SPLITS[split]}: HIST's advantage over HFedAvg grows from N = 2 to 4",
            quantities=[advantage(costs, [n for n in cells if n <= 4], split)],
        )
    )
    before, after = DEGRADES[split]
    if after in cells:
        rises = sooner(f"N = {before}", hist[before], f"N = {after}", hist[after], "uploads")
        paper = f"{SPLITS[split]}: HIST's upload rises at N = {after}"
        claims.append(Claim(paper=paper, quantities=[rises]))
    return claims
