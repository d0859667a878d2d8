"""Tables II to IV of the RawHFL paper: test accuracy and energy of all algorithms, for one law of v each.

The paper's captions say K = 400; their energies belong to 400 edge rounds, K = 100 with E = 4, so energies
are compared per edge round (FedAvg-UB has one in a global round). Accuracies are means over users, the
numbers behind +- standard deviations over users, in the mean over the seeds; the paper does not say what its
own are over, and for its energies they can only be over trials. Bits over the backhaul, which the paper gives
in its text, are of a base station and a global round; `rawhfl-backhaul` has the claims on them.
"""

from typing import Any

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from rich.table import Table

from analysis.plots import COLOURS
from cosim.display.words import in_words
from scenarios.command_line.console import console
from scenarios.reproduce.claims import Claim, Floats, Quantity, interval_of
from scenarios.reproduce.rawhfl import backhaul
from scenarios.reproduce.rawhfl.fig7 import savings
from scenarios.reproduce.rawhfl.fig9 import is_settled, like_upper_bound
from scenarios.reproduce.rawhfl.figures import (
    NEAR,
    STALLED,
    WITHIN,
    Options,
    Runs,
    about,
    label_ranks,
    near,
    popularity_ranks,
    system_of,
    write,
)

PAPER_EDGE_ROUND_J = {
    "RawHFL, Z=2": 1508.33 / 400,
    "RawHFL, Z=4": 2848.16 / 400,
    "RawHFL, Z=6": 4137.94 / 400,
    "H-FedAvg-M1": 490.23 / 400,
    "H-FedAvg-M2": 11226.51 / 400,
    "H-FedAvg-UB": 13836.46 / 400,
    "FedAvg-UB": 3455.56 / 100,
}
"""Energy of an edge round, all cells together, of all three tables."""
POPULAR = 0.03
"""Accuracy that is near the paper's of Top-Popular, which the mean of v hardly moves. [no source]"""
IN_ONE_PLACE = ("central SGD", "Top-Popular")
"""Rows without clients, which send nothing and whose energy is not asked."""
BACKHAUL_ROUNDS = 2
"""Global rounds of which the backhaul is measured, as all are alike."""


def run_table(figure: str, options: Options, v: tuple[float, ...], paper: dict[str, float]) -> int:
    """Run, print the table beside the paper's, compare.

    Args:
        v: Probability of staying in the genre, or its range.
        paper: Accuracy in the paper, by algorithm.
    """
    names = [name for name in paper if name != "Top-Popular"]
    if options.quick:
        names = [name for name in names if name not in ("RawHFL, Z=2", "RawHFL, Z=6")]
    runs = Runs(options, (*names, "exact, Z=4"), v)
    rows, entries = list[dict[str, Any]](), list[Claim]()
    for name in (*names, "exact, Z=4", "Top-Popular"):
        if name == "Top-Popular":
            of_users = [popularity_ranks(system_of("RawHFL, Z=4", options, s, v)) for s in options.every_seed]
        else:
            of_users = [label_ranks(result) for result in runs.of[name]]
        of_seeds = [(ranks == 0).mean(axis=1) for ranks in of_users]
        accuracies = np.array([of_seed.mean() for of_seed in of_seeds])
        energies_j = np.full(len(of_seeds), np.nan) if name in IN_ONE_PLACE else runs.edge_round_j(name)
        rows += [
            {
                "algorithm": name,
                "paper_accuracy": paper.get(name, np.nan),
                "paper_edge_round_j": PAPER_EDGE_ROUND_J.get(name, np.nan),
                "seed": seed,
                "accuracy": of_seed.mean(),
                "over_users": of_seed.std(),
                "edge_round_j": energy_j,
            }
            for seed, of_seed, energy_j in zip(options.every_seed, of_seeds, energies_j, strict=True)
        ]
        if name in paper and options.rounds >= 100:
            entries += entries_of(name, accuracies, paper[name], runs)
    table = completed(pd.DataFrame(rows), options)
    console.print(shown(figure, options, table))
    claims = [
        *like_upper_bound(runs),
        *savings(runs),
        *entries,
        *beyond_rawhfl(runs),
    ]
    return write(figure, options, table, drawn(table), claims, runs.all)


def completed(table: pd.DataFrame, options: Options) -> pd.DataFrame:
    """A table with the bits over the backhaul, from runs without learning."""
    short = attrs.evolve(options, num_global_rounds=BACKHAUL_ROUNDS)
    names = [name for name in table["algorithm"].unique() if name not in IN_ONE_PLACE]
    bits = pd.Series(
        {
            (name, seed): backhaul.backhaul_bits(result)
            for name, results in backhaul.runs_of(names, short).items()
            for seed, result in zip(options.every_seed, results, strict=True)
        }
    )
    keys = pd.MultiIndex.from_frame(table[["algorithm", "seed"]])
    return table.assign(backhaul_bits=bits.reindex(keys).to_numpy())


def beyond_rawhfl(runs: Runs) -> list[Claim]:
    """Claims that the paper reads off all three tables, where they were run."""
    learned = [name for name in runs.of if name not in ("central SGD", "exact, Z=4")]
    claims = []
    if is_settled(runs):
        claims.append(
            Claim(
                paper="central SGD outperforms the FL algorithms",
                quantities=[runs.ahead("central SGD", name) for name in learned],
            )
        )
    if "RawHFL, Z=6" in runs.of:
        claims.append(
            Claim(
                paper="with many clients per cell RawHFL takes more energy than FedAvg-UB",
                quantities=[
                    Quantity(
                        words="all rounds, RawHFL, Z=6 less FedAvg-UB",
                        values=runs.energy_j("RawHFL, Z=6") - runs.energy_j("FedAvg-UB"),
                        least=0.0,
                        unit="J",
                    )
                ],
            )
        )
    return claims


def entries_of(name: str, accuracy: Floats, paper: float, runs: Runs) -> list[Claim]:
    """A row of the table beside the paper's: its accuracy and its energy.

    Args:
        accuracy: With each seed.
        paper: The accuracy in the paper.
    """
    within, is_rare = POPULAR if name == "Top-Popular" else WITHIN[runs.v], name == STALLED
    claims = [
        Claim(
            paper=f"{name}: accuracy {paper:g} (here: within {within:g})",
            quantities=[about(f"after {runs.options.rounds} rounds", accuracy, paper, within)],
        )
    ]
    if name in PAPER_EDGE_ROUND_J:
        paper_j = PAPER_EDGE_ROUND_J[name]
        claims.append(
            Claim(
                paper=f"{name}: {paper_j:.4g} J in an edge round (here: within a factor of {NEAR:g})",
                quantities=[
                    near("mean over the rounds", runs.edge_round_j(name), paper_j, "J", is_rare=is_rare)
                ],
            )
        )
    return claims


def shown(figure: str, options: Options, table: pd.DataFrame) -> Table:
    """The table as the paper prints it, its values beside ours."""
    seeds = in_words("num_seeds", len(options.every_seed))
    words = f"{seeds}; accuracy ± spread over users"
    printed = Table(title=f"{figure}: K = {options.rounds}, {words}")
    headings = ("algorithm", "accuracy", "the paper's", "J per edge round", "the paper's", "backhaul, Mbit")
    for heading in headings:
        printed.add_column(heading, justify="left" if heading == "algorithm" else "right", no_wrap=True)
    columns = ["accuracy", "over_users", "paper_accuracy", "edge_round_j", "paper_edge_round_j"]
    means = table.groupby("algorithm", sort=False)[[*columns, "backhaul_bits"]].mean()
    means["backhaul_bits"] /= 1e6
    for name, accuracy, over_users, *others in means.itertuples(name=None):
        values = ("-" if np.isnan(value) else f"{value:.4g}" for value in others)
        printed.add_row(name, f"{accuracy:.4f} ± {over_users:.4f}", *values)
    return printed


def drawn(table: pd.DataFrame) -> Figure:
    """Accuracies, with intervals over the seeds, beside the paper's."""
    picture = Figure(figsize=(7.6, 4.0), layout="constrained")
    axes = picture.subplots()
    of_algorithms = table.groupby("algorithm", sort=False)
    found = {str(name): interval_of(values.to_numpy()) for name, values in of_algorithms["accuracy"]}
    places, means = np.arange(len(found)), [own.estimate for own in found.values()]
    about = [[own.estimate - own.low, own.high - own.estimate] for own in found.values()]
    error: dict[str, Any] = {"xerr": np.transpose(about), "error_kw": {"ecolor": "#9a9a9a", "capsize": 2.5}}
    axes.barh(places - 0.2, means, height=0.4, color=COLOURS[0], label="here", **error)
    look: dict[str, Any] = {"facecolor": "white", "edgecolor": COLOURS[0], "hatch": "////"}
    axes.barh(places + 0.2, of_algorithms["paper_accuracy"].first(), height=0.4, label="paper", **look)
    axes.set_yticks(places, list(found))
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set_xlabel("test accuracy")
    axes.legend(fontsize=8)
    return picture
