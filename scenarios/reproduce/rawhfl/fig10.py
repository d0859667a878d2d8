"""Fig. 10 of the RawHFL paper: how often the requested video is among the M likeliest guesses.

The model of each run's last checkpoint guesses on the test requests of every user; the bands are standard
deviations over users, as in the paper, here over the users of all seeds. The quick form's few rounds are not
held against accuracies at the end.

cosim reproduce rawhfl-fig10 --quick
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import style
from scenarios.rawhfl import predictions
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.rawhfl.figures import (
    SAMPLED,
    Options,
    Runs,
    Whole,
    about,
    label_ranks,
    popularity_ranks,
    system_of,
    write,
)

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig10"
ALGORITHMS = ("RawHFL, Z=4", "central SGD", "H-FedAvg-UB", "FedAvg-UB", "H-FedAvg-M2", "H-FedAvg-M1")
UPPER = ("H-FedAvg-UB", "FedAvg-UB")
MOST = 10
WITHIN, CAUGHT_UP, SURELY = 3.0, 1.0, 0.95
"""Points that are near, points that are no longer behind, and a share that is almost 1. [no source]"""


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs = Runs(options, ALGORITHMS)
    ranks = {name: [label_ranks(result) for result in results] for name, results in runs.of.items()}
    systems = [system_of("RawHFL, Z=4", options, seed) for seed in options.every_seed]
    ranks["Top-Popular"] = [popularity_ranks(system) for system in systems]
    of_runs = {name: [top(of_seed) for of_seed in own] for name, own in ranks.items()}
    of_runs["best possible"] = [
        np.array([[p.top_accuracy(m) for m in range(1, MOST + 1)] for p in predictions(system)])
        for system in systems
    ]
    of_users = {name: np.concatenate(own) for name, own in of_runs.items()}
    mean = {name: values.mean(axis=0) for name, values in of_users.items()}
    table = pd.DataFrame(
        {
            "algorithm": name,
            "num_guesses": m + 1,
            "seed": seed,
            "accuracy": of_seed[:, m].mean(),
            "over_users": of_seed[:, m].std(),
        }
        for name, own in of_runs.items()
        for m in range(MOST)
        for seed, of_seed in zip(options.every_seed, own, strict=True)
    )
    means = {name: np.array([of.mean(axis=0) for of in own]) for name, own in of_runs.items()}
    claims = [*at_the_end(means), *claims_of(means)] if options.rounds >= 100 else claims_of(means)
    picture = Figure(figsize=(6.8, 4.6), layout="constrained")
    axes = picture.subplots()
    guesses = np.arange(1, MOST + 1)
    for index, (name, values) in enumerate(of_users.items()):
        look: dict[str, Any] = style(index, MOST) | {"markevery": 1}
        if name == "best possible":
            look = {"color": "black", "linestyle": ":", "linewidth": 0.9}
        axes.plot(guesses, mean[name], label=name, **look)
        band = values.std(axis=0)
        axes.fill_between(
            guesses, mean[name] - band, mean[name] + band, color=look["color"], alpha=0.07, linewidth=0
        )
    axes.set_xlabel("number M of guesses")
    axes.set_ylabel("share of requests among the guesses")
    axes.set_ylim(0, 1.03)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return write(FIGURE, options, table, picture, claims, runs.all)


def at_the_end(mean: Mapping[str, Floats]) -> list[Claim]:
    """Claims on accuracies at the end of training.

    Args:
        mean: Algorithm -> Top-M accuracy over users, shape (seeds, M).
    """
    raw, central = mean["RawHFL, Z=4"], mean["central SGD"]
    return [
        *(
            Claim(
                paper=f"Top-1: RawHFL {points:g} points above {name} (here: within {WITHIN:g})",
                quantities=[
                    about(f"RawHFL less {name}", 100.0 * (raw - mean[name])[:, 0], points, WITHIN, "points")
                ],
            )
            for name, points in (("H-FedAvg-M1", 36.94), ("H-FedAvg-M2", 25.67), ("Top-Popular", 35.69))
        ),
        Claim(
            paper=f"Top-1: central SGD 6.95 points above RawHFL (here: within {WITHIN:g})",
            quantities=[
                about("central SGD less RawHFL", 100.0 * (central - raw)[:, 0], 6.95, WITHIN, "points")
            ],
        ),
        Claim(
            paper="RawHFL, H-FedAvg-UB and FedAvg-UB nearly identical for all M (here: within "
            f"{WITHIN:g} points)",
            quantities=[
                Quantity(
                    words=f"RawHFL and {name}, most apart",
                    values=100.0 * np.abs(raw - mean[name]).max(axis=1),
                    most=WITHIN,
                    unit="points",
                )
                for name in UPPER
            ],
        ),
        Claim(
            paper="central SGD is ahead for M up to 7",
            quantities=[
                Quantity(
                    words="central SGD less RawHFL, where it is least",
                    values=100.0 * (central - raw)[:, :7].min(axis=1),
                    least=0.0,
                    unit="points",
                )
            ],
        ),
        Claim(
            paper="from M = 8 on RawHFL, H-FedAvg-UB and FedAvg-UB catch up with central SGD (here: to "
            f"{CAUGHT_UP:g} point)",
            quantities=[
                Quantity(
                    words=f"central SGD less {name}, where it is most",
                    values=100.0 * (central - own)[:, 7:].max(axis=1),
                    most=CAUGHT_UP,
                    unit="points",
                )
                for name, own in (("RawHFL", raw), *((name, mean[name]) for name in UPPER))
            ],
        ),
        Claim(
            paper=f"the requested video is almost surely among the first 8 guesses (here: in {SURELY:g})",
            quantities=[
                Quantity(words="RawHFL", values=raw[:, 7], least=SURELY),
                Quantity(words="central SGD", values=central[:, 7], least=SURELY),
            ],
        ),
    ]


def claims_of(mean: Mapping[str, Floats]) -> list[Claim]:
    """Claims that hold in every round.

    Args:
        mean: Algorithm -> Top-M accuracy over users, shape (seeds, M).
    """
    raw, best = mean["RawHFL, Z=4"], mean["best possible"]
    excess = np.max([of - best for of in mean.values()], axis=(0, 2))
    return [
        Claim(
            paper="for all M the other H-FedAvg baselines perform poorly (here: worse than RawHFL)",
            quantities=[
                Quantity(
                    words=f"RawHFL less {name}, where it is least",
                    values=100.0 * (raw - mean[name]).min(axis=1),
                    least=0.0,
                    unit="points",
                )
                for name in ("H-FedAvg-M1", "H-FedAvg-M2")
            ],
        ),
        Claim(
            paper=f"no method beats the best possible guess (closed form) by more than {SAMPLED:g}",
            quantities=[Quantity(words="largest excess", values=excess, most=SAMPLED)],
            is_required=True,
            is_ours=True,
        ),
    ]


def top(ranks: Whole) -> Floats:
    """Top-M accuracy of every user for M from 1 on, shape (users, M)."""
    return np.stack([(ranks < m).mean(axis=1) for m in range(1, MOST + 1)], axis=1)
