"""Fig. 6 of the HIST journal paper: effect of the edge rounds E and the local steps H, for N = 3.

cosim reproduce hist-fig6 --quick
"""

from scenarios.reproduce.claims import Claim, Quantity, rising
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

FIGURE = "hist-fig6"


def main(options: Options) -> int:
    """Run, draw, compare."""
    splits = options.splits
    settings = (
        [(5, 20), (15, 20), (5, 40), (5, 60)]
        if options.quick
        else [(5, 20), (10, 20), (15, 20), (5, 40), (5, 60)]
    )
    systems = {
        f"E={num_edge_rounds} H={num_local_steps}, {split}": hist_system(
            options,
            num_cells=3,
            split=split,
            num_global_rounds=options.rounds(5, 30),
            num_edge_rounds=num_edge_rounds,
            num_local_steps=num_local_steps,
        )
        for split in splits
        for num_edge_rounds, num_local_steps in settings
    }
    runs = run_all(FIGURE, systems, options)
    claims = [claim for split in splits for claim in _claims(runs, split)]
    picture = drawn(runs, splits, global_rounds, "global rounds", "N = 3, ")
    return tell(FIGURE, options, claims, table_of(runs), picture, every_run(runs))


def _claims(runs: Runs, split: str) -> list[Claim]:
    means = {label: mean_accuracy(results) for label, results in of_split(runs, split).items()}
    of_edges = {f"E = {e}": means[f"E={e} H=20"] for e in (5, 10, 15) if f"E={e} H=20" in means}
    first, middle, last = (means[f"E=5 H={h}"] for h in (20, 40, 60))
    gain = Quantity(words=f"{MEAN}: H = 40 less H = 20", values=middle - first, least=0.0, unit="points")
    words, change = f"{MEAN}: H = 60 less H = 40", last - middle
    if split == "shards":
        claimed = "gains to 40, then loses"
        then = Quantity(words=words, values=change, most=0.0, unit="points")
    else:
        claimed = "gains to 60"
        then = Quantity(words=words, values=change, least=0.0, unit="points")
    return [
        Claim(
            paper=f"{SPLITS[split]}: more edge rounds E learn faster",
            quantities=rising(MEAN, list(of_edges), list(of_edges.values()), "points"),
        ),
        Claim(
            paper=f"{SPLITS[split]}: with more local steps H it {claimed}",
            quantities=[gain, then],
        ),
    ]
