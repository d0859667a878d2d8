"""Section V-C of the RawHFL paper: bits over the backhaul of a base station, and the energy beside them.

With FedAvg the base stations only relay, so that every update goes on to the cloud, s bits each; hierarchical
algorithms send one edge model in a global round. Nothing is learned here. Bits are read off the time that an
edge server sends for over a backhaul of 1 Gbit/s, a rate that the paper does not give; towards the clients
all send the model once.

cosim reproduce rawhfl-backhaul --quick
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from typing_extensions import override

import cosim
from analysis.plots import COLOURS
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.figures import Runs, every_run, run_all
from scenarios.reproduce.rawhfl import figures
from scenarios.reproduce.rawhfl.figures import FOLDER, system_of, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-backhaul"
RATE_BPS = 1e9
"""Rate of the backhaul. [no source]"""
UPDATE_BITS = 219_648 * 33
"""s, payload of an update. [RawHFL, Section V-A]"""
CLIENTS = 12
"""Clients of a base station. [RawHFL, Section V-A]"""
EXACT = 1e-6
"""Share by which a time read off the clock may differ. [no source]"""
SINGLE = "FedAvg-UB"
HIERARCHICAL = ("RawHFL, Z=4", "H-FedAvg-M2", "H-FedAvg-UB")


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        num_global_rounds: Global rounds K; none: 2 in the quick form, else 10, as all are alike.
    """

    full_seeds = 5

    @property
    @override
    def rounds(self) -> int:
        return self.num_global_rounds or (2 if self.quick else 10)


def main(options: Options) -> int:
    """Run, draw, compare."""
    of = runs_of((SINGLE, *HIERARCHICAL), options)
    table = pd.DataFrame(
        {
            "algorithm": name,
            "seed": seed,
            "backhaul_bits": backhaul_bits(result),
            "global_round_j": result.summary.energy_j / options.rounds,
        }
        for name, results in of.items()
        for seed, result in zip(options.every_seed, results, strict=True)
    )
    of_seeds = {str(name): own["backhaul_bits"].to_numpy() for name, own in table.groupby("algorithm")}
    return write(FIGURE, options, table, drawn(table), claims(of_seeds), every_run(of))


def runs_of(algorithms: Iterable[str], options: figures.Options) -> Runs:
    """Algorithms with a backhaul of a finite rate, timing only; results by algorithm, one for each seed."""
    labels = {name: f"{name}, K={options.rounds}, {options.reading}, over a backhaul" for name in algorithms}
    runs = run_all(FOLDER, {label: over_backhaul(name, options) for name, label in labels.items()}, options)
    return {name: runs[label] for name, label in labels.items()}


def over_backhaul(algorithm: str, options: figures.Options) -> cosim.System:
    """An algorithm with a backhaul of a finite rate, timing only."""
    system = system_of(algorithm, options, options.seed, learns=False)
    topology = cosim.evolve(system.topology, backhaul_rate_bps=RATE_BPS)
    return cosim.evolve(system, topology=topology)


def backhaul_bits(result: cosim.Result) -> float:
    """Bits from a base station to the cloud in a global round, mean over stations and rounds."""
    spans, system = result.spans, result.config["system"]
    sends = spans[(spans["activity"] == "send") & spans["node"].str.startswith("edge")]
    sent_s = float((sends["end_s"] - sends["start_s"]).sum())
    return sent_s * RATE_BPS / (system["num_cells"] * result.summary.num_global_rounds)


def claims(bits: Mapping[str, Floats]) -> list[Claim]:
    """Claims on the backhaul.

    Args:
        bits: Of a base station in a global round, by algorithm, shape (seeds,).
    """
    single, hierarchical = bits[SINGLE], bits["H-FedAvg-UB"]
    more = "bits of FedAvg-UB over H-FedAvg-UB, less 1"
    return [
        Claim(
            paper="FedAvg-UB sends s |U_b| bits over the backhaul of a base station in a global round",
            quantities=[exactly("bits over s |U_b|", single / (UPDATE_BITS * CLIENTS), 1.0)],
            is_required=True,
        ),
        Claim(
            paper="hierarchical algorithms send s bits",
            quantities=[
                exactly(f"{name}, bits over s", bits[name] / UPDATE_BITS, 1.0) for name in HIERARCHICAL
            ],
            is_required=True,
        ),
        Claim(
            paper=f"FedAvg-UB loads the backhaul by |Z_b| - 1 = {CLIENTS - 1} times more",
            quantities=[exactly(more, single / hierarchical - 1.0, CLIENTS - 1)],
            is_required=True,
        ),
    ]


def exactly(words: str, values: Floats, asked: float) -> Quantity:
    """That a number is another, but for rounding of the clock."""
    least, most = asked * (1.0 - EXACT), asked * (1.0 + EXACT)
    return Quantity(words=words, values=values, least=least, most=most, unit="times")


def drawn(table: pd.DataFrame) -> Figure:
    """Bits over the backhaul and energy of a global round."""
    picture = Figure(figsize=(7.6, 2.8), layout="constrained")
    left, right = picture.subplots(1, 2, sharey=True)
    names: Sequence[str] = (SINGLE, *HIERARCHICAL)
    means = table.groupby("algorithm")[["backhaul_bits", "global_round_j"]].mean().loc[list(names)]
    places = np.arange(len(names))
    left.barh(places, means["backhaul_bits"] / 1e6, color=COLOURS[0])
    left.set_xlabel("backhaul of a base station (Mbit)")
    right.barh(places, means["global_round_j"], color=COLOURS[1])
    right.set_xlabel("energy of all clients (J)")
    left.set_yticks(places, list(names))
    left.invert_yaxis()
    picture.suptitle("a global round", fontsize=9)
    return picture
