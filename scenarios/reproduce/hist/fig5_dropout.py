"""Fig. 5 of the HIST journal paper with the network of the authors' public code: do more cells begin to hurt?

The paper has HIST's upload rise at N = 8 (10 where cells are alike) and explains it by submodels that are too
small. The network of its text loses nothing there (hist-fig5). That of the code has biases and drops out half
of the hidden units while it trains: of the 37 that a cell has for N = 8 some 18 are left. Compared are
accuracies at equal upload, up to 15 whole models, of which N cells make 3 N global rounds. As they go up and
down from round to round, each is a mean, from half of the upload on. The full form has both networks and both
splits, each with the two N between which the paper sees the rise; the quick form has the code's network, the
fully non-i.i.d. split, 10 uploads and three seeds, as dropout takes three times as long.

    cosim reproduce hist-fig5-dropout --quick
"""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import cosim
from analysis.intervals.statistics import difference
from analysis.plots import COLOURS
from scenarios.reproduce.claims import Claim, Floats, Quantity, interval_of
from scenarios.reproduce.figures import every_run, run_all
from scenarios.reproduce.hist import figures
from scenarios.reproduce.hist.fig5 import DEGRADES
from scenarios.reproduce.hist.figures import SPLITS, hist_system
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "hist-fig5-dropout"
NETWORKS = {"dropout": "mlpdropout-784-300-10", "plain": "relu-784-300-10"}
"""The authors' public code's, and the one of the paper's text."""
NUM_EDGE_ROUNDS = 5
FIRST = 0.5
"""Share of the uploads from which on accuracies count. [no source]"""
ROUNDING = 1e-9


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        quick_seeds: As many as 3 minutes have room for.
    """

    quick_seeds: ClassVar[int] = 3

    @property
    def num_uploads(self) -> int:
        """Uploads of the whole model."""
        return 10 if self.quick else 15

    @property
    def networks(self) -> tuple[str, ...]:
        """Networks that are run."""
        return ("dropout",) if self.quick else tuple(NETWORKS)


def label(network: str, num_cells: int, split: str) -> str:
    """Name of a design."""
    return f"{network} N={num_cells}, {split}"


def main(options: Options) -> int:
    """Run, draw, compare."""
    systems = {
        label(network, n, split): cosim.evolve(
            hist_system(
                options,
                num_cells=n,
                split=split,
                num_global_rounds=options.num_uploads * n // NUM_EDGE_ROUNDS,
            ),
            model=NETWORKS[network],
        )
        for split in options.splits
        for network in options.networks
        for n in DEGRADES[split]
    }
    runs = run_all(FIGURE, systems, options)
    table = figures.table_of(runs)
    return tell(FIGURE, options, claims_in(table, options), table, drawn(table, options), every_run(runs))


def accuracies(table: pd.DataFrame) -> dict[str, Floats]:
    """Mean accuracy in per cent, from half of the upload on, by design, shape (seeds,)."""
    return {
        str(curve): np.array([100.0 * later(own) for _, own in rows.groupby("seed", sort=False)])
        for curve, rows in table.groupby("curve", sort=False)
    }


def later(run: pd.DataFrame) -> float:
    """Mean accuracy of a run from half of its upload on."""
    sent = run["uploads_per_client"]
    return float(run["accuracy"][sent >= FIRST * sent.max() * (1.0 - ROUNDING)].mean())


def claims_in(table: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by the figure's table."""
    found = accuracies(table)
    return [
        claim
        for split in options.splits
        for claim in claims_of(
            {network: lost(found, network, split) for network in options.networks}, split, options
        )
    ]


def lost(found: Mapping[str, Floats], network: str, split: str) -> Floats:
    """Accuracy that a network loses between the paper's two N, in points, shape (seeds,)."""
    before, after = (found[label(network, n, split)] for n in DEGRADES[split])
    return difference(before, after)


def claims_of(losses: Mapping[str, Floats], split: str, options: Options) -> list[Claim]:
    """That more cells hurt the code's network, not the one of the text, and the former more.

    Args:
        losses: By network.
    """
    before, after = DEGRADES[split]
    words = f"mean accuracy at {FIRST * options.num_uploads:g} to {options.num_uploads} uploads: "
    pair = f"N = {before} less N = {after}"
    claims = [
        Claim(
            paper=f"{SPLITS[split]}: HIST gets worse with the code's dropout at N = {after}",
            quantities=[
                Quantity(words=words + pair, values=losses["dropout"], least=0.0, unit="points"),
            ],
        )
    ]
    if "plain" in losses:
        other = Quantity(
            words=f"{words}N = {after} less N = {before}",
            values=-losses["plain"],
            least=0.0,
            unit="points",
        )
        more = Quantity(
            words=f"{words}{pair}, with dropout less without",
            values=losses["dropout"] - losses["plain"],
            least=0.0,
            unit="points",
        )
        claims += [
            Claim(
                paper=f"{SPLITS[split]}: HIST gets no worse without dropout at N = {after}",
                quantities=[other],
                is_ours=True,
            ),
            Claim(
                paper=f"{SPLITS[split]}: what HIST loses at N = {after} comes with dropout",
                quantities=[more],
                is_ours=True,
            ),
        ]
    return claims


def drawn(table: pd.DataFrame, options: Options) -> Figure:
    """Accuracy over N, a line for each network and a panel for each split."""
    found = accuracies(table)
    figure = Figure(figsize=(5.0 * len(options.splits), 4.0), layout="constrained")
    panels = figure.subplots(1, len(options.splits), squeeze=False, sharey=True)[0]
    for axes, split in zip(panels, options.splits, strict=True):
        cells = DEGRADES[split]
        for network, colour in zip(options.networks, COLOURS, strict=False):
            own = [interval_of(found[label(network, n, split)]) for n in cells]
            ends = [[of.estimate - of.low for of in own], [of.high - of.estimate for of in own]]
            axes.errorbar(cells, [of.estimate for of in own], ends, capsize=2.5, label=network, color=colour)
        axes.set_xticks(cells)
        axes.set_xlabel("cells N")
        axes.set_title(SPLITS[split])
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    panels[0].set_ylabel(f"mean accuracy from {FIRST * options.num_uploads:g} uploads on (%)")
    return figure
