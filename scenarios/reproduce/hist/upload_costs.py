"""Upload per client that reaches a target accuracy, HIST beside HFedAvg for N cells: numbers, table, bars."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import bars
from scenarios.reproduce.claims import Quantity, Reached, sooner
from scenarios.reproduce.figures import Runs
from scenarios.reproduce.hist.figures import SPLITS, Options, uploads_to

NAMES = ("HIST", "HFedAvg")
Costs = dict[str, Reached]
"""Whole-model uploads per client up to the target, by design."""


def costs_of(runs: Runs, target: float) -> Costs:
    """Of every design, with each seed."""
    return {label: uploads_to(results, target) for label, results in runs.items()}


def by_cells(costs: Costs, name: str, cells: Sequence[int], split: str) -> dict[int, Reached]:
    """Costs of an algorithm and a split, by N."""
    return {num_cells: costs[f"{name} N={num_cells}, {split}"] for num_cells in cells}


def less_than_hfedavg(costs: Costs, cells: Sequence[int], split: str, target: float) -> list[Quantity]:
    """Claim that HIST needs less than HFedAvg for each N."""
    hist, hfedavg = (by_cells(costs, name, cells, split) for name in NAMES)
    to = f"to {100 * target:.0f} %, "
    return [sooner(f"{to}N = {n}: HIST", hist[n], "HFedAvg", hfedavg[n], "uploads") for n in cells]


def less_and_less(costs: Mapping[int, Reached], cells: Sequence[int]) -> list[Quantity]:
    """That each N needs less than the one before it."""
    return [
        sooner(f"N = {then}", costs[then], f"N = {before}", costs[before], "uploads")
        for before, then in pairwise(cells)
    ]


def advantage(costs: Costs, cells: Sequence[int], split: str) -> Quantity:
    """How many times less HIST takes than HFedAvg with the most cells, over that with the fewest.

    Unknown where a run missed.
    """
    few, many = cells[0], cells[-1]
    hist, hfedavg = (by_cells(costs, name, cells, split) for name in NAMES)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [hfedavg[n].taken / hist[n].taken for n in (few, many)]
        gains = ratios[1] / ratios[0]
    return Quantity(
        words=f"HFedAvg's upload over HIST's, N = {many} over N = {few}",
        values=np.where(np.isfinite(gains) & (gains > 0.0), gains, math.nan),
        least=1.0,
        is_ratio=True,
    )


def table_of(costs: Costs, target: float, options: Options) -> pd.DataFrame:
    """All of them, a row for each design and seed."""
    return pd.DataFrame(
        [
            {
                "curve": label,
                "seed": seed,
                "target": target,
                "uploads_per_client": taken,
                "lasted_uploads_per_client": lasted,
            }
            for label, of_seeds in costs.items()
            for seed, taken, lasted in zip(options.every_seed, of_seeds.taken, of_seeds.lasted, strict=True)
        ]
    )


def costs_in(table: pd.DataFrame) -> Costs:
    """Costs of `table_of`, by design."""
    return {
        str(curve): Reached(
            rows["uploads_per_client"].to_numpy(), rows["lasted_uploads_per_client"].to_numpy()
        )
        for curve, rows in table.groupby("curve", sort=False)
    }


def drawn(costs: Costs, cells: Sequence[int], splits: Sequence[str], target: float) -> Figure:
    """A bar for each algorithm and N, a panel for each split."""
    figure = Figure(figsize=(5.0 * len(splits), 4.0), layout="constrained")
    for axes, split in zip(figure.subplots(1, len(splits), squeeze=False)[0], splits, strict=True):
        groups = {
            f"N = {n}": {name: costs[f"{name} N={n}, {split}"].interval for name in NAMES} for n in cells
        }
        bars(axes, groups, f"upload per client to {100 * target:.0f} % (whole models)")
        axes.set_title(SPLITS[split])
    return figure
