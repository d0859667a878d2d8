"""Fig. 5 of the RawHFL paper: how often clients are able to take part, and how often they are selected.

Nothing is learned here. The paper calls a client eligible that can do one local round; counted here are those
who can at full speed and power (as H-FedAvg-M2 counts) and those who can at any.

cosim reproduce rawhfl-fig5 --quick
"""

import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import COLOURS
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.rawhfl.figures import Options, Runs, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig5"
SELECTED = ("RawHFL, Z=2", "RawHFL, Z=4", "RawHFL, Z=6")


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs = Runs(options, (*SELECTED, "H-FedAvg-M2"), learns=False)
    full_speed = shares(runs, "H-FedAvg-M2", "is_selected")
    counts = pd.DataFrame(
        {
            "able at full speed and power": full_speed,
            "able at any": shares(runs, SELECTED[1], "is_able"),
            **{f"selected, {name}": shares(runs, name, "is_selected") for name in SELECTED},
        }
    )
    num_rounds = 4 * options.rounds
    chosen = counts[f"selected, {SELECTED[1]}"]
    claims = [
        Claim(
            "some clients are eligible in few edge rounds (client 11 in 28 of 400)",
            f"least: {full_speed.idxmin()}, {num_rounds * full_speed.min():.0f} of {num_rounds} at full "
            f"speed and power, {100 * full_speed.mean():.0f} % on average",
            bool(full_speed.min() < 0.5),
        ),
        Claim(
            "selections differ between clients",
            f"Z=4: from {num_rounds * chosen.min():.0f} to {num_rounds * chosen.max():.0f} of {num_rounds}",
            bool(chosen.max() > 1.5 * chosen.min()),
            required=True,
        ),
    ]
    picture = Figure(figsize=(9.0, 5.2), layout="constrained")
    left, right = picture.subplots(2, 1, sharex=True)
    numbers = range(len(counts))
    left.bar(
        numbers,
        num_rounds * counts["able at any"],
        color="white",
        edgecolor=COLOURS[0],
        label="able at some speed and power",
    )
    left.bar(
        numbers, num_rounds * full_speed, color=COLOURS[0], label="able at full speed and power", width=0.5
    )
    left.set_ylabel("edge rounds able")
    left.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    for index, name in enumerate(SELECTED):
        places = [number + 0.27 * (index - 1) for number in numbers]
        look = {"facecolor": ("white", "#9cc5e3", COLOURS[0])[index], "edgecolor": COLOURS[0]}
        right.bar(places, num_rounds * counts[f"selected, {name}"], width=0.27, label=name, **look)
    right.set_ylabel("edge rounds selected")
    right.set_xlabel("client")
    right.legend(fontsize=8)
    table = counts.rename(columns="share of edge rounds {}".format).reset_index(names="client")
    return write(FIGURE, options, table, picture, claims)


def shares(runs: Runs, algorithm: str, column: str) -> pd.Series:
    """Share of the edge rounds of all seeds in which a client was so, by client."""
    plans = pd.concat([result.plans for result in runs.of[algorithm]])
    return plans.groupby("client")[column].mean()
