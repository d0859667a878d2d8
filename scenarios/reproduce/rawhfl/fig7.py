"""Fig. 7 of the RawHFL paper: distribution of the energy of an edge round, by Algorithm 2 and by the optimum.

Nothing is learned here. The paper's label says energy per base station; its values fit the four cells
together, since 3.7 J in one cell of two clients would exceed the budgets of C8. The picture has the edge
rounds of all seeds together.

cosim reproduce rawhfl-fig7 --quick
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import style
from scenarios.reproduce.claims import Claim, Floats, Quantity, rising
from scenarios.reproduce.rawhfl.figures import NEAR, Options, Runs, near, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig7"
PAPER_J = {2: 3.77, 4: 7.12, 6: 10.34}
"""Energy of an edge round, all cells: derived from Table II as its energy over 400 edge rounds, for Z."""
SAVED = 4.85
"""Energy of H-FedAvg-UB over that of RawHFL, Z=4, after 100 rounds. [RawHFL, Section V-C]"""
TEXT_J = {2: 3.7, 4: 7.1, 6: 10.3}
"""Energy that half of the base stations exceed, for Z. [RawHFL, Section V, on Fig. 7]"""


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs, table = energies(options)
    totals = table.groupby(["algorithm", "seed", "global_round", "edge_round"])["energy_j"].sum()
    claims = [
        Claim(
            paper=f"Z={z}: {paper_j:g} J in an edge round, all cells, by Table II (the text: more than "
            f"{TEXT_J[z]:g} J per BS in half of the cases; here: within a factor of 1.5)",
            quantities=[near("Algorithm 2", runs.edge_round_j(f"RawHFL, Z={z}"), paper_j, "J")],
        )
        for z, paper_j in PAPER_J.items()
    ]
    claims.append(
        Claim(
            paper="the energy of an edge round increases with the clients that take part",
            quantities=rising(
                "Algorithm 2, all cells",
                [f"Z = {z}" for z in PAPER_J],
                [runs.edge_round_j(f"RawHFL, Z={z}") for z in PAPER_J],
                "J",
            ),
        )
    )
    claims += savings(runs)
    if options.reading == "printed":
        claims.append(on_devices_with_floors(runs))
    means_j = pd.DataFrame({name: runs.edge_round_j(name) for name in runs.of}, index=options.every_seed)
    return write(
        FIGURE,
        options,
        distributions(totals, means_j),
        cdf(totals, "energy of an edge round, all cells (J)"),
        claims,
        runs.all,
    )


def on_devices_with_floors(runs: Runs) -> Claim:
    """That planning saves much on devices that cannot become as slow and quiet as they like, too."""
    planned_j, full_j = (runs.edge_round_j(f"{name}, floors") for name in ("exact, Z=4", "H-FedAvg-UB"))
    return Claim(
        paper="devices that clock no lower than 300 MHz, send no lower than 0 dBm and draw 0.1 W while "
        "busy: at least 4 times less",
        quantities=[
            Quantity(
                words="H-FedAvg-UB over the optimum, Z = 4",
                values=full_j / planned_j,
                least=4.0,
                unit="times",
                is_ratio=True,
            )
        ],
        is_ours=True,
    )


def energies(options: Options) -> tuple[Runs, pd.DataFrame]:
    """The runs of both solvers, and the planned energy of every selected client."""
    names, bounds = [f"{solver}, Z={z}" for z in PAPER_J for solver in ("RawHFL", "exact")], ["H-FedAvg-UB"]
    if options.reading == "printed":
        names.append("exact, Z=4, floors")
        bounds.append("H-FedAvg-UB, floors")
    runs = Runs(options, (*names, *bounds), learns=False)
    return runs, pd.concat(
        [
            result.plans[result.plans["is_selected"]]
            .rename(columns={"planned_j": "energy_j"})
            .assign(algorithm=name, seed=result.config["system"]["seed"])
            for name in names
            for result in runs.of[name]
        ]
    )


def savings(runs: Runs) -> list[Claim]:
    """How much less energy RawHFL takes than everyone at full speed and power."""
    unbound_j = runs.edge_round_j("H-FedAvg-UB")
    by_algorithm_2 = unbound_j / runs.edge_round_j("RawHFL, Z=4")
    by_optimum = unbound_j / runs.edge_round_j("exact, Z=4")
    words = "H-FedAvg-UB over RawHFL, Z=4"
    return [
        Claim(
            paper="RawHFL takes significantly less energy than H-FedAvg-UB",
            quantities=[Quantity(words=words, values=by_algorithm_2, least=1.0, unit="times", is_ratio=True)],
            is_required=True,
        ),
        Claim(
            paper=f"{SAVED:g} times less (here: within a factor of {NEAR:g})",
            quantities=[near(words, by_algorithm_2, SAVED, "times", is_ratio=True)],
        ),
        Claim(
            paper="Algorithm 2 takes no less than the optimum",
            quantities=[
                Quantity(
                    words="energy of Algorithm 2 over that of the optimum",
                    values=by_optimum / by_algorithm_2,
                    least=1.0 - 1e-9,
                    unit="times",
                    is_ratio=True,
                )
            ],
            is_required=True,
            is_ours=True,
        ),
    ]


def distributions(energy_j: pd.Series, means_j: pd.DataFrame) -> pd.DataFrame:
    """Each run's distribution in fiftieths, and its mean.

    Args:
        energy_j: By algorithm and seed, any number of values for each.
        means_j: By seed, a column for each algorithm.

    Returns:
        algorithm, share (none: the mean), seed, energy_j.
    """
    fiftieths = np.linspace(0.0, 1.0, 51)
    found = energy_j.groupby(["algorithm", "seed"]).quantile(fiftieths)  # type: ignore[call-overload]
    quantiles = found.rename_axis(["algorithm", "seed", "share"]).rename("energy_j").reset_index()
    by_seed = means_j.rename_axis(index="seed", columns="algorithm")
    means = by_seed.melt(ignore_index=False, value_name="energy_j").reset_index()
    return pd.concat([quantiles, means])[["algorithm", "share", "seed", "energy_j"]]


def cdf(energy_j: pd.Series, x_label: str) -> Figure:
    """Empirical distribution by algorithm, on a logarithmic scale."""
    picture = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = picture.subplots()
    for index, (name, values) in enumerate(energy_j.groupby("algorithm")):
        ordered: Floats = np.sort(values.to_numpy())
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        axes.plot(ordered, share, label=str(name), **style(index, len(ordered)))
    axes.set_xscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel("share of edge rounds")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    return picture
