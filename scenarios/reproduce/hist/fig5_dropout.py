"""Fig. 5 of the HIST journal paper with the network of the authors' public code: do more cells begin to hurt?

The paper has HIST's upload rise at N = 8 (10 where cells are alike) and explains it by submodels that are too
small. The network of its text loses nothing there (hist-fig5). That of the code has biases and drops out half
of the hidden units while it trains: of the 37 that a cell has for N = 8 some 18 are left. Compared are
accuracies after 15 uploads, of which N cells make 3 N global rounds, in the mean over the last three of them.
The full form has both networks and both splits; the quick form has the code's network, N = 6 and 8, the fully
non-i.i.d. split, 10 uploads and three seeds, as dropout takes three times as long.

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
from scenarios.reproduce.figures import every_run, play_all
from scenarios.reproduce.hist import figures
from scenarios.reproduce.hist.fig5 import DEGRADES
from scenarios.reproduce.hist.figures import SPLITS, hist_system
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "hist-fig5-dropout"
NETWORKS = {"dropout": "mlpdropout-784-300-10", "plain": "relu-784-300-10"}
"""The authors' public code's, and the one of the paper's text."""
NUM_EDGE_ROUNDS = 5
LAST = 3
"""Accuracies are means over the last rounds."""


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


def networks(options: Options) -> tuple[str, ...]:
    """Networks that are run."""
    return ("dropout",) if options.quick else tuple(NETWORKS)


def numbers_of_cells(options: Options) -> tuple[int, ...]:
    """Numbers of cells that are run."""
    return (6, 8) if options.quick else (4, 6, 8, 10)


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
        for network in networks(options)
        for n in numbers_of_cells(options)
    }
    runs = play_all(FIGURE, systems, options)
    table = figures.table_of(runs)
    return tell(FIGURE, options, claims_in(table, options), table, drawn(table, options), every_run(runs))


def accuracies(table: pd.DataFrame) -> dict[str, Floats]:
    """Accuracy after the uploads in per cent, by design, shape (seeds,)."""
    return {
        str(curve): np.array(
            [100.0 * own["accuracy"].iloc[-LAST:].mean() for _, own in rows.groupby("seed", sort=False)]
        )
        for curve, rows in table.groupby("curve", sort=False)
    }


def claims_in(table: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by the figure's table."""
    found = accuracies(table)
    return [
        claim
        for split in options.splits
        for network in networks(options)
        if (claim := degrading(found, network, split, options)) is not None
    ]


def degrading(found: Mapping[str, Floats], network: str, split: str, options: Options) -> Claim | None:
    """That more cells hurt from where the paper says on; of the text's network, that they do not."""
    before, after = DEGRADES[split]
    if after not in numbers_of_cells(options):
        return None
    is_plain = network == "plain"
    worse, better = (before, after) if is_plain else (after, before)
    own, other = (found[label(network, n, split)] for n in (better, worse))
    claimed = "gets no worse without dropout" if is_plain else "gets worse with the code's dropout"
    return Claim(
        paper=f"{SPLITS[split]}: HIST {claimed} at N = {after}",
        quantities=[
            Quantity(
                words=f"accuracy after {options.num_uploads} uploads: N = {better} less N = {worse}",
                values=difference(own, other),
                least=0.0,
                unit="points",
            )
        ],
        is_ours=is_plain,
    )


def drawn(table: pd.DataFrame, options: Options) -> Figure:
    """Accuracy over N, a line for each network and a panel for each split."""
    found, cells = accuracies(table), numbers_of_cells(options)
    figure = Figure(figsize=(5.0 * len(options.splits), 4.0), layout="constrained")
    panels = figure.subplots(1, len(options.splits), squeeze=False, sharey=True)[0]
    for axes, split in zip(panels, options.splits, strict=True):
        for network, colour in zip(networks(options), COLOURS, strict=False):
            own = [interval_of(found[label(network, n, split)]) for n in cells]
            ends = [[of.estimate - of.low for of in own], [of.high - of.estimate for of in own]]
            axes.errorbar(cells, [of.estimate for of in own], ends, capsize=2.5, label=network, color=colour)
        axes.set_xticks(cells)
        axes.set_xlabel("cells N")
        axes.set_title(SPLITS[split])
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    panels[0].set_ylabel(f"accuracy after {options.num_uploads} uploads (%)")
    return figure
