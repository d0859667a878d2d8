"""Fig. 10 of the RawHFL paper: how often the requested video is among the M likeliest guesses.

The model of each run's last checkpoint guesses on the test requests of every user; the bands are standard
deviations over users, as in the paper.

cosim reproduce rawhfl-fig10 --quick
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import style
from scenarios.rawhfl import predictions
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.rawhfl.figures import (
    Floats,
    Options,
    Runs,
    Whole,
    label_ranks,
    popularity_ranks,
    system_of,
    write,
)

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig10"
ALGORITHMS = ("RawHFL, Z=4", "central SGD", "H-FedAvg-UB", "FedAvg-UB", "H-FedAvg-M2", "H-FedAvg-M1")
MOST = 10


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs = Runs(options, ALGORITHMS)
    ranks = {name: [label_ranks(result) for result in results] for name, results in runs.of.items()}
    systems = [system_of("RawHFL, Z=4", options, seed) for seed in options.every_seed]
    ranks["Top-Popular"] = [popularity_ranks(system) for system in systems]
    of_users = {
        name: np.concatenate([top(of_seed) for of_seed in of_runs]) for name, of_runs in ranks.items()
    }
    of_best = [[p.top_accuracy(m) for m in range(1, MOST + 1)] for s in systems for p in predictions(s)]
    of_users["best possible"] = np.array(of_best)
    mean = {name: values.mean(axis=0) for name, values in of_users.items()}
    table = pd.DataFrame(
        {
            "algorithm": name,
            "num_guesses": m + 1,
            "accuracy": values[:, m].mean(),
            "over_users": values[:, m].std(),
        }
        for name, values in of_users.items()
        for m in range(MOST)
    )
    raw, central, best = (mean[name] for name in ("RawHFL, Z=4", "central SGD", "best possible"))
    claims = [
        *(
            Claim(
                f"Top-1: RawHFL {points:g} points above {name}",
                f"{100 * (raw[0] - mean[name][0]):.2f}",
                bool(raw[0] - mean[name][0] > 0.2),
            )
            for name, points in (("H-FedAvg-M1", 36.94), ("H-FedAvg-M2", 25.67), ("Top-Popular", 35.69))
        ),
        Claim(
            "Top-1: central SGD 6.95 points above RawHFL",
            f"{100 * (central[0] - raw[0]):.2f}",
            bool(central[0] > raw[0]),
        ),
        Claim(
            "the requested video is almost surely among the first 8 guesses",
            f"RawHFL {raw[7]:.4f}, central SGD {central[7]:.4f}, best possible {best[7]:.4f}",
            bool(raw[7] > 0.95),
        ),
        Claim(
            "no method beats the best possible guess (closed form)",
            f"largest excess {max((of - best).max() for of in mean.values()):.4f}",
            bool(all((of <= best + 0.02).all() for of in mean.values())),
            required=True,
        ),
    ]
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
    axes.legend(fontsize=8, ncols=2)
    return write(FIGURE, options, table, picture, claims)


def top(ranks: Whole) -> Floats:
    """Top-M accuracy of every user for M from 1 on, shape (users, M)."""
    return np.stack([(ranks < m).mean(axis=1) for m in range(1, MOST + 1)], axis=1)
