"""Fig. 9 of the RawHFL paper: accuracy and energy of RawHFL and its baselines over global rounds.

cosim reproduce rawhfl-fig9 --quick
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.plots import style
from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.rawhfl.fig7 import NEAR
from scenarios.reproduce.rawhfl.figures import Options, Runs, about, draw_means, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig9"
ALGORITHMS = ("RawHFL, Z=4", "H-FedAvg-UB", "FedAvg-UB", "H-FedAvg-M2", "H-FedAvg-M1")
AT_50 = {
    "RawHFL, Z=4": (0.4430, 1741),
    "H-FedAvg-UB": (0.4455, 8439),
    "FedAvg-UB": (0.4455, 2109),
    "H-FedAvg-M2": (0.173, 6845),
    "H-FedAvg-M1": (0.073, 283),
}
"""Accuracy and energy in J after 50 global rounds. [RawHFL, Section V-C]"""


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs = Runs(options, ALGORITHMS)
    at_50 = AT_50 if options.rounds >= 50 else {}
    claims = [
        like_upper_bound(runs),
        *(
            Claim(
                paper=f"{name}: {accuracy:g} and {energy_j:g} J after 50 rounds (here: within 0.05, and a "
                f"factor of {NEAR:g})",
                quantities=[
                    about("accuracy after 50", runs.accuracy(name, 50), accuracy, 0.05),
                    Quantity(
                        words="energy after 50",
                        values=runs.energy_j(name, 50),
                        least=energy_j / NEAR,
                        most=energy_j * NEAR,
                        unit="J",
                    ),
                ],
            )
            for name, (accuracy, energy_j) in at_50.items()
        ),
        *(far_below(runs, name) for name in ("H-FedAvg-M1", "H-FedAvg-M2")),
    ]
    picture = Figure(figsize=(9.4, 4.0), layout="constrained")
    left, right = picture.subplots(1, 2)
    for index, name in enumerate(ALGORITHMS):
        draw_means(left, runs.of[name], "accuracy", name, index)
        tables = [result.evaluations.iloc[1:] for result in runs.of[name]]
        energy_j = np.mean([table["energy_j"] for table in tables], axis=0)
        right.semilogy(tables[0]["version"], energy_j, label=name, **style(index, options.rounds))
    left.set_ylabel("test accuracy")
    right.set_ylabel("energy of all clients (J)")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("global rounds")
        axes.grid(alpha=0.3)
    left.legend(fontsize=8)
    return write(FIGURE, options, runs.frame(), picture, claims, runs.all)


def like_upper_bound(runs: Runs) -> Claim:
    """RawHFL learns as well as everyone without constraints, once both have reached their plateau."""
    difference = runs.accuracy("RawHFL, Z=4") - runs.accuracy("H-FedAvg-UB")
    return Claim(
        paper="RawHFL, Z=4 is as accurate as H-FedAvg-UB at equal rounds (here: within 0.02)",
        quantities=[about(f"difference after {runs.options.rounds} rounds", difference, 0.0, 0.02)],
        is_required=runs.options.rounds >= (20 if runs.v == (0.7,) else 100),
    )


def far_below(runs: Runs, name: str) -> Claim:
    """A baseline that keeps to the constraints without planning."""
    gap = runs.accuracy("RawHFL, Z=4") - runs.accuracy(name)
    return Claim(
        paper=f"{name} is far below RawHFL (here: by at least 0.1)",
        quantities=[Quantity(words=f"RawHFL, Z=4 less {name}", values=gap, least=0.1)],
    )
