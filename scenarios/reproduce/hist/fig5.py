"""Fig. 5 of the HIST journal paper: upload per client that reaches a target accuracy, for N cells.

The target is 80 %, as in the paper; in the quick form 75 %.

    cosim reproduce hist-fig5 --quick
"""

from pathlib import Path

from matplotlib.figure import Figure

from analysis.plots import bars
from scenarios.command_line.console import save_picture
from scenarios.reproduce.figures import Claim, play_all
from scenarios.reproduce.hist.figures import (
    SPLITS,
    Options,
    amount,
    hist_and_hfedavg,
    uploads_to,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "hist-fig5"


def main(options: Options) -> int:
    """Run, draw, compare."""
    target = 0.75 if options.quick else 0.80
    cells = (2, 4) if options.quick else (2, 4, 6, 8, 10)
    splits = ("shards",) if options.quick else tuple(SPLITS)
    systems = hist_and_hfedavg(options, cells, splits, options.rounds(5, 24))
    results = play_all(FIGURE, systems, options)
    cost = {label: uploads_to(result, target) for label, result in results.items()}
    claims = [claim for split in splits for claim in _claims(cost, cells, split, target)]
    return write_figure(
        FIGURE, options, results, claims, lambda path: _draw(cost, cells, splits, target, path)
    )


def _claims(cost: dict[str, float | None], cells: tuple[int, ...], split: str, target: float) -> list[Claim]:
    words = SPLITS[split]
    hist, hfedavg = ([cost[f"{name} N={n}, {split}"] for n in cells] for name in ("HIST", "HFedAvg"))
    less = [h is not None and (f is None or h < f) for h, f in zip(hist, hfedavg, strict=True)]
    to_six = [h for h, n in zip(hist, cells, strict=True) if n <= 6]
    falling = all(h is not None for h in to_six) and to_six == sorted(to_six, reverse=True)  # type: ignore[type-var]
    return [
        Claim(
            f"{words}: to 80 % HIST needs less upload than HFedAvg",
            f"to {100 * target:.0f} %, N = {', '.join(map(str, cells))}: "
            f"HIST {', '.join(map(amount, hist))}; HFedAvg {', '.join(map(amount, hfedavg))}",
            all(less),
        ),
        Claim(
            f"{words}: HIST's upload falls from N = 2 to 6",
            ", ".join(map(amount, to_six)),
            falling,
        ),
    ]


def _draw(
    cost: dict[str, float | None], cells: tuple[int, ...], splits: tuple[str, ...], target: float, path: Path
) -> None:
    figure = Figure(figsize=(5.0 * len(splits), 4.0), layout="constrained")
    for axes, split in zip(figure.subplots(1, len(splits), squeeze=False)[0], splits, strict=True):
        groups = {
            f"N = {n}": {name: cost[f"{name} N={n}, {split}"] for name in ("HIST", "HFedAvg")} for n in cells
        }
        bars(axes, groups, f"upload per client to {100 * target:.0f} % (whole models)")
        axes.set_title(SPLITS[split])
    save_picture(figure, path)
