"""Fig. 2 of the HIST conference paper: accuracy over upload per client, HIST against HFedAvg, for N up to 5.

H = 40 and five edge rounds to a global round; the paper's E = 200 counts local steps. Accuracies are compared
at equal upload, in the mean over evaluations of HFedAvg. What the paper says of more cells names no split,
so both are asked. The quick form has N = 2 and 4 and the fully non-i.i.d. split only.

    cosim reproduce hist-conf-fig2 --quick
"""

from collections.abc import Sequence

import cosim
from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.figures import Runs, every_run, run_all
from scenarios.reproduce.hist.figures import (
    SPLITS,
    Options,
    ahead_at_equal_upload,
    at_equal_upload,
    drawn,
    ever_better,
    hist_and_hfedavg,
    of_split,
    table_of,
    uploads,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "hist-conf-fig2"
NUM_EDGE_ROUNDS, NUM_LOCAL_STEPS = 5, 40


def numbers_of_cells(options: Options) -> tuple[int, ...]:
    """Numbers of cells that are run."""
    return (2, 4) if options.quick else (2, 3, 4, 5)


def systems(options: Options) -> dict[str, cosim.System]:
    """Systems that are run."""
    return hist_and_hfedavg(
        options,
        numbers_of_cells(options),
        options.splits,
        options.rounds(2, 12),
        num_local_steps=NUM_LOCAL_STEPS,
    )


def main(options: Options) -> int:
    """Run, draw, compare."""
    cells, splits = numbers_of_cells(options), options.splits
    runs = run_all(FIGURE, systems(options), options)
    claims = [claim for split in splits for claim in _claims(of_split(runs, split), cells, split)]
    picture = drawn(runs, splits, uploads, "upload per client (whole models)", "")
    return tell(FIGURE, options, claims, table_of(runs), picture, every_run(runs))


def _claims(runs: Runs, cells: tuple[int, ...], split: str) -> list[Claim]:
    words = SPLITS[split]
    levels, (hist, hfedavg) = at_equal_upload(runs, cells)
    claims = [
        *(ahead_at_equal_upload(n, words, levels, hist[n], hfedavg[n]) for n in cells),
        _round_costs(runs, cells, words),
        ever_better(f"{words}: HIST gets more accurate from N = 2 to 4", hist, [n for n in cells if n <= 4]),
        ever_better(f"{words}: HFedAvg gets less accurate with more cells", hfedavg, cells[::-1]),
    ]
    if 5 in cells:
        claims.append(ever_better(f"{words}: HIST gets less accurate at N = 5", hist, (5, 4)))
    return claims


def _round_costs(runs: Runs, cells: Sequence[int], words: str) -> Claim:
    return Claim(
        paper=f"{words}: a global round of HIST takes 1/N of its edge rounds in uploads",
        quantities=[
            Quantity(
                words=f"N = {n}: uploads over {NUM_EDGE_ROUNDS} / N",
                values=[n * uploads(result).iloc[1] / NUM_EDGE_ROUNDS for result in runs[f"HIST N={n}"]],
                least=1.0 - 1e-12,
                most=1.0 + 1e-12,
                is_exact=True,
            )
            for n in cells
        ],
        is_required=True,
    )
