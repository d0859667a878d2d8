"""Fig. 3 of the HIST conference paper: upload per client that reaches 75 %, for N up to 5; Fig. 2's runs.

The quick form's target is 65 %, and its rounds are too few for HFedAvg to reach that with every seed.

cosim reproduce hist-conf-fig3 --quick
"""

from scenarios.reproduce.claims import Claim
from scenarios.reproduce.figures import every_run, run_all
from scenarios.reproduce.hist.conf import fig2
from scenarios.reproduce.hist.figures import SPLITS, Options
from scenarios.reproduce.hist.upload_costs import (
    Costs,
    advantage,
    by_cells,
    costs_of,
    drawn,
    less_and_less,
    less_than_hfedavg,
    table_of,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-conf-fig3", fig2.FIGURE


def main(options: Options) -> int:
    """Run, draw, compare."""
    cells, splits, target = fig2.numbers_of_cells(options), options.splits, 0.65 if options.quick else 0.75
    runs = run_all(FOLDER, fig2.systems(options), options)
    costs = costs_of(runs, target)
    claims = [claim for split in splits for claim in _claims(costs, cells, split, target)]
    table, picture = table_of(costs, target, options), drawn(costs, cells, splits, target)
    return tell(FIGURE, options, claims, table, picture, every_run(runs), folder=FOLDER)


def _claims(costs: Costs, cells: tuple[int, ...], split: str, target: float) -> list[Claim]:
    words, to_four = SPLITS[split], [n for n in cells if n <= 4]
    hist = by_cells(costs, "HIST", cells, split)
    claims = [
        Claim(
            paper=f"{words}: to 75 % HIST needs less upload than HFedAvg",
            quantities=less_than_hfedavg(costs, cells, split, target),
        ),
        Claim(
            paper=f"{words}: HIST's upload falls from N = 2 to 4",
            quantities=less_and_less(hist, to_four),
        ),
    ]
    if 5 in cells:
        sharper = f"{words}: HIST's falls in sharp comparison with HFedAvg's (here: by a larger factor)"
        claims.append(Claim(paper=sharper, quantities=[advantage(costs, to_four, split)]))
    return claims
