"""Fig. 6 of the RawHFL paper: accuracy and loss of RawHFL over global rounds, for v and Z.

Means over the seeds; bands are their 95 % intervals.

cosim reproduce rawhfl-fig6 --quick
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scenarios.rawhfl import predictions
from scenarios.reproduce.claims import Claim, Quantity, Reached, reached, rising, sooner
from scenarios.reproduce.rawhfl.figures import (
    PLATEAU,
    SAMPLED,
    V_RANGE,
    WITHIN,
    Options,
    Runs,
    about,
    draw_means,
    system_of,
    write,
)

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig6"
MOST = 0.9
"""Of the accuracy at the end, after which it has converged. [no source]"""
SETTLED = 20
"""Global rounds after which accuracies fluctuate only. [no source]"""
OF_PAPER: dict[tuple[float, ...], float] = {(0.3,): 0.2998, (0.7,): 0.7013}
"""Accuracy of RawHFL, Z=4, where all users have the same v. [RawHFL, Tables II and III]"""
ENOUGH = {(0.7,): 20, (0.3,): 60, V_RANGE: 60}
"""Global rounds from which on accuracies are held against the paper's, after its 100."""


def main(options: Options) -> int:
    """Run, draw, compare."""
    selected = (2, 4) if options.quick else (2, 4, 6)
    names = [f"RawHFL, Z={z}" for z in selected]
    values = (V_RANGE, (0.7,)) if options.quick else (V_RANGE, (0.3,), (0.7,))
    of_v = {v: Runs(options, names, v) for v in values}
    claims = [claim for runs in of_v.values() for claim in claims_of(runs, [z for z in selected if z >= 4])]
    claims += effects_of_v(of_v, names)
    if len(selected) > 2:
        claims.append(fluctuations(of_v[(0.7,)]))
    claims += [
        Claim(
            paper=f"{words_of(v)}: more clients per cell give {better}",
            quantities=rising(
                f"{measure} after {options.rounds} rounds",
                [f"Z = {z}" for z in selected[::step]],
                [scale * runs.measured(name, column) for name in names[::step]],
                unit,
            ),
        )
        for better, measure, column, scale, unit, step in (
            ("higher accuracy", "accuracy", "accuracy", 100.0, "points", 1),
            ("less loss", "loss", "loss_nats", 1.0, "nats", -1),
        )
        if column == "loss_nats" or options.rounds >= SETTLED  # accuracies are too noisy before
        for v, runs in of_v.items()
    ]
    picture = Figure(figsize=(4.4 * len(values), 6.4), layout="constrained")
    for row, measure, label in ((0, "accuracy", "test accuracy"), (1, "loss_nats", "test loss (nats)")):
        for column, (v, runs) in enumerate(of_v.items()):
            axes = picture.add_subplot(2, len(values), row * len(values) + column + 1)
            for index, name in enumerate(names):
                draw_means(axes, runs.of[name], measure, name, index)
            if measure == "accuracy":
                best = np.mean([p.accuracy for s in options.every_seed for p in users(options, s, v)])
                axes.axhline(float(best), color="black", linewidth=0.8, linestyle=":", label="best possible")
                axes.set_ylim(0, 0.85)
            axes.set_title(words_of(v), fontsize=10)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("global rounds")
            axes.set_ylabel(label)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
    table = pd.concat([runs.frame() for runs in of_v.values()])
    return write(FIGURE, options, table, picture, claims, [run for runs in of_v.values() for run in runs.all])


def effects_of_v(of_v: Mapping[tuple[float, ...], Runs], names: Sequence[str]) -> list[Claim]:
    """A large v is learned better and sooner."""
    if (0.3,) not in of_v:
        return []
    few, many = of_v[(0.3,)], of_v[(0.7,)]
    return [
        Claim(
            paper="a high v yields better predictions",
            quantities=[
                Quantity(
                    words=f"{name}: accuracy for v = 0.7 less v = 0.3",
                    values=100.0 * (many.accuracy(name) - few.accuracy(name)),
                    least=0.0,
                    unit="points",
                )
                for name in names
            ],
        ),
        Claim(
            paper=f"a large v converges faster (here: to {100 * MOST:g} % of the accuracy at the end)",
            quantities=[
                sooner(f"{name}, v = 0.7", converged(many, name), "v = 0.3", converged(few, name), "rounds")
                for name in names
            ],
        ),
    ]


def converged(runs: Runs, name: str) -> Reached:
    """Global rounds to most of the accuracy at the end."""
    return reached(
        [
            (table["version"], table["accuracy"] / table["accuracy"].iloc[-1])
            for table in (result.evaluations for result in runs.of[name])
        ],
        MOST,
    )


def fluctuations(runs: Runs) -> Claim:
    """How much the accuracy changes from round to round once it has settled."""
    few, many = (
        np.array(
            [
                100.0 * result.evaluations["accuracy"].iloc[SETTLED:].diff().abs().mean()
                for result in runs.of[name]
            ]
        )
        for name in ("RawHFL, Z=2", "RawHFL, Z=4")
    )
    return Claim(
        paper="v = 0.7: with Z = 2 the accuracy fluctuates (here: more than with Z = 4)",
        quantities=[
            Quantity(
                words=f"change from round to round after round {SETTLED}, Z = 2 less Z = 4",
                values=few - many,
                least=0.0,
                unit="points",
            )
        ],
    )


def words_of(v: tuple[float, ...]) -> str:
    """Users' v in words."""
    least, most = min(v), max(v)
    return f"v from {least:g} to {most:g}" if len(v) > 1 else f"v = {least:g}"


def users(options: Options, seed: int, v: tuple[float, ...]) -> list:
    """Predictions of each user's next request."""
    return predictions(system_of("exact, Z=4", options, seed, v))


def claims_of(runs: Runs, many: Sequence[int]) -> list[Claim]:
    """Claims on the accuracy of RawHFL with these users, and on its plateau; none in short runs.

    Args:
        many: Clients of a cell with which the paper sees a plateau.
    """
    rounds, v, accuracy = runs.options.rounds, runs.v, runs.accuracy("RawHFL, Z=4")
    if rounds < ENOUGH[v]:
        return []
    of_users = [users(runs.options, seed, v) for seed in runs.options.every_seed]
    best = np.array([np.mean([user.accuracy for user in of_seed]) for of_seed in of_users])
    similar = np.array([np.mean([user.similar_accuracy for user in of_seed]) for of_seed in of_users])
    words, within = f"after {rounds} rounds", WITHIN[v]
    below = Claim(
        paper=f"{words_of(v)}: no more accurate than is possible (closed form) by more than {SAMPLED:g}",
        quantities=[Quantity(words="best possible less it", values=best - accuracy, least=-SAMPLED)],
        is_ours=True,
    )
    if v == V_RANGE:
        return [
            Claim(
                paper=f"v from 0.1 to 0.8: about 0.45 after 100 rounds (here: within {within:g})",
                quantities=[about(words, accuracy, 0.45, within)],
            ),
            Claim(
                paper=f"v from 0.1 to 0.8: the mean of its users' v (within {within:g})",
                quantities=[about(f"{words}, less the mean of v", accuracy - similar, 0.0, within)],
                is_ours=True,
            ),
            below,
        ]
    at_end = Claim(
        paper=f"{words_of(v)}: {OF_PAPER[v]:g} after 100 rounds (here: within {within:g})",
        quantities=[about(words, accuracy, OF_PAPER[v], within)],
        is_required=True,
    )
    if v == (0.3,):
        return [at_end, below]
    gained = {f"Z = {z}": runs.accuracy(f"RawHFL, Z={z}") - runs.accuracy(f"RawHFL, Z={z}", 14) for z in many}
    plateau = Claim(
        paper=f"v = 0.7: a plateau after 14 rounds with at least 4 clients (here: to {PLATEAU:g})",
        quantities=[about(f"{of}, gained after round 14", own, 0.0, PLATEAU) for of, own in gained.items()],
    )
    return [at_end, plateau, below]
