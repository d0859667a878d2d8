"""Fig. 7 of the HIST journal paper: effect of the number n' of participants, for N = 3, H = 20, E = 15.

cosim reproduce hist-fig7 --quick
"""

from pathlib import Path

import cosim
from scenarios.reproduce.figures import Claim, play_all
from scenarios.reproduce.hist.fig6 import mean_accuracy
from scenarios.reproduce.hist.figures import (
    SPLITS,
    Options,
    draw_curves,
    global_rounds,
    hist_system,
    percent,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "hist-fig7"


def main(options: Options) -> int:
    """Run, draw, compare."""
    splits = ("shards",) if options.quick else tuple(SPLITS)
    participants = (5, 10, 20) if options.quick else (5, 10, 15, 20)
    systems = {
        f"n'={number}, {split}": hist_system(
            options,
            num_cells=3,
            split=split,
            num_global_rounds=options.rounds(12, 30),
            num_edge_rounds=15,
            num_participants=number,
        )
        for split in splits
        for number in participants
    }
    results = play_all(FIGURE, systems, options)
    claims = [_claim(results, split) for split in splits]
    if len(splits) > 1:
        gains = [_gain(results, split) for split in splits]
        claims.append(
            Claim(
                "participation matters more where the cells differ as well",
                f"mean accuracy, n' = 20 less n' = 5: {', '.join(map(percent, gains))}",
                gains[0] > gains[1],
            )
        )

    def draw(path: Path) -> None:
        draw_curves(results, splits, global_rounds, "global rounds", "N = 3, E = 15, ", path)

    return write_figure(FIGURE, options, results, claims, draw)


def _claim(results: dict[str, cosim.Result], split: str) -> Claim:
    means = {
        label.partition(",")[0]: mean_accuracy(r) for label, r in results.items() if label.endswith(split)
    }
    return Claim(
        f"{SPLITS[split]}: more participants n' learn faster",
        "mean accuracy: " + ", ".join(f"{label} {percent(a)}" for label, a in means.items()),
        list(means.values()) == sorted(means.values()),
    )


def _gain(results: dict[str, cosim.Result], split: str) -> float:
    return mean_accuracy(results[f"n'=20, {split}"]) - mean_accuracy(results[f"n'=5, {split}"])
