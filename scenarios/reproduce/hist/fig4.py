"""Fig. 4 of the HIST journal paper: accuracy over upload per client, HIST against HFedAvg, for N cells.

The quick form has N = 4 and the fully non-i.i.d. split only.

cosim reproduce hist-fig4 --quick
"""

import numpy as np

import cosim
from scenarios.reproduce.claims import Claim, Quantity, rising, sooner
from scenarios.reproduce.figures import Runs, every_run, play_all
from scenarios.reproduce.hist.figures import (
    SPLITS,
    Options,
    accuracy_at,
    drawn,
    hist_and_hfedavg,
    table_of,
    uploads,
    uploads_to,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "hist-fig4"
TARGET = 0.75


def numbers_of_cells(options: Options) -> tuple[int, ...]:
    """Those that are run."""
    return (4,) if options.quick else (2, 4, 6)


def rounds(options: Options) -> int:
    """Global rounds of HFedAvg."""
    return options.rounds(4, 24)


def systems(options: Options) -> dict[str, cosim.System]:
    """What is run."""
    return hist_and_hfedavg(options, numbers_of_cells(options), options.splits, rounds(options))


def main(options: Options) -> int:
    """Run, draw, compare."""
    cells, splits = numbers_of_cells(options), options.splits
    runs = play_all(FIGURE, systems(options), options)
    claims = [claim for split in splits for claim in _claims(runs, cells, split)]
    picture = drawn(runs, splits, uploads, "upload per client (whole models)", "")
    return tell(FIGURE, options, claims, table_of(runs), picture, every_run(runs))


def _claims(runs: Runs, cells: tuple[int, ...], split: str) -> list[Claim]:
    words, claims = SPLITS[split], []
    for num_cells in cells:
        hist, hfedavg = (runs[f"{name} N={num_cells}, {split}"] for name in ("HIST", "HFedAvg"))
        own, other = uploads_to(hist, TARGET), uploads_to(hfedavg, TARGET)
        hist_bits, hfedavg_bits = (
            np.array([result.uploads["payload_bits"].iloc[0] for result in of]) for of in (hist, hfedavg)
        )
        claims += [
            Claim(
                paper=f"N = {num_cells}, {words}: HIST needs less upload than HFedAvg for the same accuracy",
                quantities=[sooner("to 75 %, HIST", own, "HFedAvg", other, "uploads")],
                is_required=num_cells == 4 and split == "shards",
            ),
            Claim(
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
            ),
        ]
    if len(cells) > 1:
        budget = min(float(uploads(runs[f"HIST N={n}, {split}"][0]).iloc[-1]) for n in cells) / 4
        trends = {"HIST": "gets more accurate at equal upload from N = 2 to 6"}
        if split == "shards":
            trends["HFedAvg"] = "gets less accurate as N increases"
        for name, trend in trends.items():
            order = cells if name == "HIST" else cells[::-1]
            accuracies = [
                [100.0 * accuracy_at(result, budget) for result in runs[f"{name} N={n}, {split}"]]
                for n in order
            ]
            names = [f"N = {n}" for n in order]
            claims.append(
                Claim(
                    paper=f"{words}: {name} {trend}",
                    quantities=rising(f"after {budget:g} uploads", names, accuracies, "points"),
                )
            )
    return claims
