"""Fig. 6 of the HIST journal paper: effect of the edge rounds E and the local steps H, for N = 3.

cosim reproduce hist-fig6 --quick
"""

from pathlib import Path

import cosim
from scenarios.reproduce.figures import Claim, play_all
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

FIGURE = "hist-fig6"


def main(options: Options) -> int:
    """Run, draw, compare."""
    splits = ("shards",) if options.quick else tuple(SPLITS)
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
            num_global_rounds=options.rounds(8, 30),
            num_edge_rounds=num_edge_rounds,
            num_local_steps=num_local_steps,
        )
        for split in splits
        for num_edge_rounds, num_local_steps in settings
    }
    results = play_all(FIGURE, systems, options)
    claims = [claim for split in splits for claim in _claims(results, split)]

    def draw(path: Path) -> None:
        draw_curves(results, splits, global_rounds, "global rounds", "N = 3, ", path)

    return write_figure(FIGURE, options, results, claims, draw)


def mean_accuracy(result: cosim.Result) -> float:
    """Mean over the evaluations after training has begun: higher where a curve rises faster."""
    return float(result.evaluations["accuracy"].iloc[1:].mean())


def _claims(results: dict[str, cosim.Result], split: str) -> list[Claim]:
    means = {
        label.partition(",")[0]: mean_accuracy(result)
        for label, result in results.items()
        if label.endswith(split)
    }
    by_edge_rounds = {e: means[f"E={e} H=20"] for e in (5, 10, 15) if f"E={e} H=20" in means}
    by_steps = {h: means[f"E=5 H={h}"] for h in (20, 40, 60)}
    if split == "shards":
        steps, steps_agree = "gains to 40, then loses", by_steps[20] < by_steps[40] > by_steps[60]
    else:
        steps, steps_agree = "gains to 60", by_steps[20] < by_steps[40] < by_steps[60]
    return [
        Claim(
            f"{SPLITS[split]}: more edge rounds E learn faster",
            "mean accuracy: " + ", ".join(f"E = {e} {percent(a)}" for e, a in by_edge_rounds.items()),
            list(by_edge_rounds.values()) == sorted(by_edge_rounds.values()),
        ),
        Claim(
            f"{SPLITS[split]}: with more local steps H it {steps}",
            "mean accuracy: " + ", ".join(f"H = {h} {percent(a)}" for h, a in by_steps.items()),
            steps_agree,
        ),
    ]
