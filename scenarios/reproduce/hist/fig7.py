"""Fig. 7 of the HIST journal paper: effect of the number n' of participants, for N = 3, H = 20, E = 15.

cosim reproduce hist-fig7 --quick
"""

from scenarios.reproduce.claims import Claim, Floats, Quantity, rising
from scenarios.reproduce.figures import Runs, every_run, run_all
from scenarios.reproduce.hist.figures import (
    MEAN,
    SPLITS,
    Options,
    drawn,
    global_rounds,
    hist_system,
    mean_accuracy,
    of_split,
    table_of,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "hist-fig7"


def main(options: Options) -> int:
    """Run, draw, compare."""
    splits = options.splits
    participants = (5, 20) if options.quick else (5, 10, 15, 20)
    systems = {
        f"n'={number}, {split}": hist_system(
            options,
            num_cells=3,
            split=split,
            num_global_rounds=options.rounds(5, 30),
            num_edge_rounds=15,
            num_participants=number,
        )
        for split in splits
        for number in participants
    }
    runs = run_all(FIGURE, systems, options)
    claims = [_claim(runs, split) for split in splits]
    if len(splits) > 1:
        differing, alike = (_gain(runs, split) for split in splits)
        claims.append(
            Claim(
                paper="participation matters more where the cells differ as well",
                quantities=[
                    Quantity(
                        words="gain of mean accuracy from n' = 5 to 20, fully non-i.i.d. less cells i.i.d.",
                        values=differing - alike,
                        least=0.0,
                        unit="points",
                    )
                ],
            )
        )
    picture = drawn(runs, splits, global_rounds, "global rounds", "N = 3, E = 15, ")
    return tell(FIGURE, options, claims, table_of(runs), picture, every_run(runs))


def _claim(runs: Runs, split: str) -> Claim:
    means = {label: mean_accuracy(results) for label, results in of_split(runs, split).items()}
    return Claim(
        paper=f"{SPLITS[split]}: more participants n' learn faster",
        quantities=rising(MEAN, list(means), list(means.values()), "points"),
    )


def _gain(runs: Runs, split: str) -> Floats:
    means = {label: mean_accuracy(results) for label, results in of_split(runs, split).items()}
    return means["n'=20"] - means["n'=5"]
