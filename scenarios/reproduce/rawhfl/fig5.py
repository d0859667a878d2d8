"""Fig. 5 of the RawHFL paper: how often clients are able to take part, and how often they are selected.

Nothing is learned here. The paper calls a client eligible that can do one local round, and does not say at
which speed and power; counted here are clients that can at full ones (as H-FedAvg-M2 counts), and clients
that can at any, as problem (28) leaves both free. The quick form has the selections of Z = 4 only, since how
able the least able client is differs much from seed to seed; a shorter run would show differences by chance.

cosim reproduce rawhfl-fig5 --quick
"""

from collections.abc import Mapping

import attrs
import pandas as pd
from matplotlib.figure import Figure
from typing_extensions import override

from analysis.plots import COLOURS
from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.rawhfl import figures
from scenarios.reproduce.rawhfl.figures import Runs, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig5"
ABLE, FACTOR = 100.0 * 28 / 400, 2.0
"""Per cent of the edge rounds in which client 11 is eligible, in one of the paper's ten runs [RawHFL, Section
V-B], and a factor that is near it. [no source]"""
APART = 25.0
"""Points by which clients are selected in differing shares of the edge rounds. [no source]"""


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        num_global_rounds: Global rounds K; none: the paper's 100.
    """

    @property
    @override
    def rounds(self) -> int:
        return self.num_global_rounds or 100

    @property
    def selected(self) -> tuple[str, ...]:
        """Algorithms whose selections are compared."""
        return ("RawHFL, Z=4",) if self.quick else ("RawHFL, Z=2", "RawHFL, Z=4", "RawHFL, Z=6")


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs = Runs(options, (*options.selected, "H-FedAvg-M2"), learns=False)
    of_seeds = {
        "able at full speed and power": shares(runs, "H-FedAvg-M2", "is_selected"),
        "able at any": shares(runs, "RawHFL, Z=4", "is_able"),
        **{f"selected, {name}": shares(runs, name, "is_selected") for name in options.selected},
    }
    able = [
        Claim(
            paper="some clients are eligible in few edge rounds: client 11 in 28 of 400, 7 % (here: within a "
            f"factor of {FACTOR:g}{read})",
            quantities=[
                Quantity(
                    words=f"edge rounds in which the least able client is, {kind.removeprefix('able ')}",
                    values=100.0 * of_seeds[kind].min().to_numpy(),
                    least=ABLE / FACTOR,
                    most=ABLE * FACTOR,
                    unit="%",
                )
            ],
        )
        for kind, read in (
            ("able at full speed and power", ", read as able at full speed and power"),
            ("able at any", ", read as able at any speed and power"),
        )
    ]
    claims = [
        *([] if options.quick else able),
        Claim(
            paper=f"selections differ between clients (by more than {APART:g} points)",
            quantities=[
                Quantity(
                    words=f"{name}, share of the edge rounds, most selected client less least selected",
                    values=100.0 * (chosen.max() - chosen.min()).to_numpy(),
                    least=APART,
                    unit="points",
                )
                for name, chosen in ((name, of_seeds[f"selected, {name}"]) for name in options.selected)
            ],
            is_required=options.reading == "printed",  # a selection by chance is more even
            is_ours=True,
        ),
    ]
    table = pd.concat([own.stack() for own in of_seeds.values()], axis=1, keys=list(of_seeds))
    table = table.rename_axis(["client", "seed"]).rename(columns="share of edge rounds {}".format)
    picture = drawn({name: own.iloc[:, 0] for name, own in of_seeds.items()}, options)
    return write(FIGURE, options, table.reset_index(), picture, claims, runs.all)


def drawn(shares: Mapping[str, pd.Series], options: Options) -> Figure:
    """One run, as in the paper: every seed draws other clients.

    Args:
        shares: Of the edge rounds, of each client.
    """
    counts = pd.DataFrame(shares) * 4 * options.rounds
    picture = Figure(figsize=(9.0, 5.2), layout="constrained")
    left, right = picture.subplots(2, 1, sharex=True)
    numbers = range(len(counts))
    left.bar(
        numbers,
        counts["able at any"],
        color="white",
        edgecolor=COLOURS[0],
        label="able at some speed and power",
    )
    full_speed = counts["able at full speed and power"]
    left.bar(numbers, full_speed, color=COLOURS[0], label="able at full speed and power", width=0.5)
    left.set_ylabel("edge rounds able")
    left.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    for index, name in enumerate(options.selected):
        places = [number + 0.27 * (index - 1) for number in numbers]
        look = {"facecolor": ("white", "#9cc5e3", COLOURS[0])[index], "edgecolor": COLOURS[0]}
        right.bar(places, counts[f"selected, {name}"], width=0.27, label=name, **look)
    right.set_ylabel("edge rounds selected")
    right.set_xlabel(f"client, seed {options.every_seed[0]}")
    right.legend(fontsize=8)
    return picture


def shares(runs: Runs, algorithm: str, column: str) -> pd.DataFrame:
    """Share of the edge rounds in which a client was so, a row for each client, a column for each seed."""
    return pd.DataFrame(
        {
            result.config["system"]["seed"]: result.plans.groupby("client")[column].mean()
            for result in runs.of[algorithm]
        }
    )
