"""Fig. 4 of the HIST journal paper: accuracy over upload per client, HIST against HFedAvg, for N cells.

Accuracies are compared at equal upload, in the mean over evaluations of HFedAvg and at the end. What
more cells do to HIST is the paper's of the fully non-i.i.d. split, and ours of the other. The quick form has
N = 4 and the fully non-i.i.d. split only.

cosim reproduce hist-fig4 --quick
"""

import numpy as np

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

FIGURE = "hist-fig4"


def numbers_of_cells(options: Options) -> tuple[int, ...]:
    """Numbers of cells that are run."""
    return (4,) if options.quick else (2, 4, 6)


def rounds(options: Options) -> int:
    """Global rounds of HFedAvg."""
    return options.rounds(4, 24)


def systems(options: Options) -> dict[str, cosim.System]:
    """Systems that are run."""
    return hist_and_hfedavg(options, numbers_of_cells(options), options.splits, rounds(options))


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
    claims = []
    for n in cells:
        ahead = ahead_at_equal_upload(n, words, levels, hist[n], hfedavg[n])
        claims.append(cosim.evolve(ahead, is_required=n == 4 and split == "shards"))
        claims.append(_share(n, words, runs))
    if len(cells) > 1:
        more = ever_better(f"{words}: HIST gets more accurate from N = 2 to 6", hist, cells)
        claims.append(cosim.evolve(more, is_ours=split != "shards"))
        if split == "shards":
            less = f"{words}: HFedAvg gets less accurate as N increases"
            claims.append(ever_better(less, hfedavg, cells[::-1]))
    return claims


def _share(num_cells: int, words: str, runs: Runs) -> Claim:
    hist_bits, hfedavg_bits = (
        np.array([run.uploads["payload_bits"].iloc[0] for run in runs[f"{name} N={num_cells}"]])
        for name in ("HIST", "HFedAvg")
    )
    return Claim(
        paper=f"N = {num_cells}, {words}: HIST sends 1/N of HFedAvg's bits per client and edge round",
        quantities=[
            Quantity(
                words="N times its share of them",
                values=num_cells * hist_bits / hfedavg_bits,
                least=1.0 - 1e-12,
                most=1.0 + 1e-12,
                is_exact=True,
            )
        ],
        is_required=True,
    )
