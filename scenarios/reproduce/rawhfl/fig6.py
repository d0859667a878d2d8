"""Fig. 6 of the RawHFL paper: accuracy and loss of RawHFL over global rounds, for v and Z.

cosim reproduce rawhfl-fig6 --quick
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.plots import style
from scenarios.rawhfl import predictions
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.rawhfl.figures import V_RANGE, Options, Runs, over_seeds, system_of, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig6"


def main(options: Options) -> int:
    """Run, draw, compare."""
    selected = (2, 4) if options.quick else (2, 4, 6)
    names = [f"RawHFL, Z={z}" for z in selected]
    values = (V_RANGE, (0.7,)) if options.quick else (V_RANGE, (0.3,), (0.7,))
    of_v = {v: Runs(options, names, v) for v in values}
    claims = [claim(runs, "RawHFL, Z=4") for runs in of_v.values()]
    gains = [runs.accuracy(names[-1]) - runs.accuracy(names[0]) for runs in of_v.values()]
    claims.append(
        Claim(
            "more clients per cell give higher accuracy",
            f"Z={selected[-1]} less Z={selected[0]}: "
            + ", ".join(over_seeds(gain, 100) for gain in gains)
            + " points",
            all(gain.mean() > -0.01 for gain in gains),
        )
    )
    picture = Figure(figsize=(4.4 * len(values), 6.4), layout="constrained")
    for row, measure, label in ((0, "accuracy", "test accuracy"), (1, "loss_nats", "test loss (nats)")):
        for column, (v, runs) in enumerate(of_v.items()):
            axes = picture.add_subplot(2, len(values), row * len(values) + column + 1)
            for index, name in enumerate(names):
                tables = [result.evaluations for result in runs.of[name]]
                mean = np.mean([table[measure] for table in tables], axis=0)
                axes.plot(tables[0]["version"], mean, label=name, **style(index, len(mean)))
            if measure == "accuracy":
                best = np.mean([p.accuracy for s in options.every_seed for p in users(options, s, v)])
                axes.axhline(float(best), color="black", linewidth=0.8, linestyle=":", label="best possible")
                axes.set_ylim(0, 0.85)
            axes.set_title(f"v {'from 0.1 to 0.8' if len(v) > 1 else f'= {v[0]:g}'}", fontsize=10)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("global rounds")
            axes.set_ylabel(label)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
    return write(FIGURE, options, pd.concat([runs.frame() for runs in of_v.values()]), picture, claims)


def users(options: Options, seed: int, v: tuple[float, ...]) -> list:
    """What can be known of each user's next request."""
    return predictions(system_of("exact, Z=4", options, seed, v))


def claim(runs: Runs, name: str) -> Claim:
    """Where the accuracy of RawHFL must lie after so many rounds with these users."""
    rounds, v, accuracy = runs.options.rounds, runs.v, runs.accuracy(name)
    of_users = [users(runs.options, seed, v) for seed in runs.options.every_seed]
    best = np.array([np.mean([user.accuracy for user in of_seed]) for of_seed in of_users])
    similar = np.array([np.mean([user.similar_accuracy for user in of_seed]) for of_seed in of_users])
    ours = f"{over_seeds(accuracy)} after {rounds} rounds; best possible {best.mean():.4f}"
    if v == (0.7,):
        return Claim(
            "v = 0.7: 0.7013, a plateau after 14 rounds",
            ours,
            bool((abs(accuracy - 0.7) < 0.03).all()),
            rounds >= 20,
        )
    if v == (0.3,):
        inside = (accuracy >= 0.27) & (accuracy <= best)
        return Claim("v = 0.3: 0.2998 after 100 rounds", ours, bool(inside.all()), rounds >= 60)
    return Claim(
        "v from 0.1 to 0.8: about 0.45 after 100 rounds, the mean of v",
        f"{ours}, mean of v {similar.mean():.4f}",
        bool((abs(accuracy - similar) < 0.05).all()),
    )
