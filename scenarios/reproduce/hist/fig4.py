"""Fig. 4 of the HIST journal paper: accuracy over upload per client, HIST against HFedAvg, for N cells.

cosim reproduce hist-fig4 --quick
"""

from pathlib import Path

import cosim
from scenarios.reproduce.figures import Claim, play_all
from scenarios.reproduce.hist.figures import (
    SPLITS,
    Options,
    accuracy_at,
    amount,
    draw_curves,
    hist_and_hfedavg,
    percent,
    uploads,
    uploads_to,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "hist-fig4"


def main(options: Options) -> int:
    """Run, draw, compare."""
    cells = (4,) if options.quick else (2, 4, 6)
    systems = hist_and_hfedavg(options, cells, tuple(SPLITS), options.rounds(5, 20))
    results = play_all(FIGURE, systems, options)

    def draw(path: Path) -> None:
        draw_curves(results, tuple(SPLITS), uploads, "upload per client (whole models)", "", path)

    return write_figure(FIGURE, options, results, _claims(results, cells), draw)


def _claims(results: dict[str, cosim.Result], cells: tuple[int, ...]) -> list[Claim]:
    target = 0.75
    claims = []
    for split, words in SPLITS.items():
        for num_cells in cells:
            hist, hfedavg = (results[f"{name} N={num_cells}, {split}"] for name in ("HIST", "HFedAvg"))
            ours, theirs = uploads_to(hist, target), uploads_to(hfedavg, target)
            claims.append(
                Claim(
                    f"N = {num_cells}, {words}: HIST needs less upload than HFedAvg for the same accuracy",
                    f"to 75 %: HIST {amount(ours)}, HFedAvg {amount(theirs)}",
                    ours is not None and (theirs is None or ours < theirs),
                    required=num_cells == 4 and split == "shards",
                )
            )
            ratio = hist.uploads["payload_bits"].iloc[0] / hfedavg.uploads["payload_bits"].iloc[0]
            claims.append(
                Claim(
                    f"N = {num_cells}, {words}: HIST sends 1/N of HFedAvg's bits per client and edge round",
                    f"{ratio:.6f} of them",
                    ratio * num_cells == 1.0,
                    required=True,
                )
            )
        if len(cells) > 1:
            budget = min(float(uploads(results[f"HIST N={n}, {split}"]).iloc[-1]) for n in cells) / 4
            reached = [accuracy_at(results[f"HIST N={n}, {split}"], budget) for n in cells]
            claims.append(
                Claim(
                    f"{words}: HIST gets more accurate at equal upload from N = 2 to 6",
                    f"after {budget:g} uploads: {', '.join(map(percent, reached))}",
                    reached == sorted(reached),
                )
            )
    return claims
