"""Section IV-B of the RawHFL paper: size of a program of Algorithm 2, and its time over the clients.

The paper counts 5 U variables and 2 B + 12 U constraints, from which it has a worst-case time of I 125 U^3
(12 U + 2 B) for I iterations, of the order of U^4 for each. Plans of random drops are timed, in processor
time of one core, for 12 clients in each of B cells. Nothing is learned here.

cosim reproduce rawhfl-complexity --quick
"""

import time

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import COLOURS
from scenarios.papers.rawhfl.plans.successive_approximation import SuccessiveApproximation
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.rawhfl.drops import CLIENTS_PER_CELL, drop
from scenarios.reproduce.rawhfl.figures import FOLDER
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "rawhfl-complexity"
MOST_PROGRAMS = 50
"""Most iterations I. [RawHFL, Section V-A]"""
WORST = 4.0
"""Power of U in the worst case. [RawHFL, Section IV-B]"""
LINEAR = 1.5
"""Power of U that is nearly 1. [no source]"""


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run."""

    quick_seeds = 5

    @property
    def every_num_cells(self) -> tuple[int, ...]:
        """Numbers of cells, the paper's first."""
        return (4, 8, 16) if self.quick else (4, 8, 16, 32, 64)


def main(options: Options) -> int:
    """Plan, draw, compare."""
    began_s = time.process_time()
    table = pd.DataFrame(row for num_cells in options.every_num_cells for row in planned(num_cells, options))
    took_s = time.process_time() - began_s
    return tell(FIGURE, options, claims(table), table, drawn(table), folder=FOLDER, took_s=took_s)


def planned(num_cells: int, options: Options) -> list[dict[str, float]]:
    """A row for each seed, of the plan of one drop."""
    rows, problems = [], {seed: drop(num_cells, seed) for seed in options.every_seed}
    planner = SuccessiveApproximation(problems[options.seed].cell)
    planner.plan(problems[options.seed])  # the first plan compiles the program
    num_variables, num_constraints = planner.size
    for seed, problem in problems.items():
        began_s = time.process_time()
        planner.plan(problem)
        plan_s = time.process_time() - began_s
        rows.append(
            {
                "num_clients": num_cells * CLIENTS_PER_CELL,
                "num_cells": num_cells,
                "num_variables": num_variables,
                "num_constraints": num_constraints,
                "seed": seed,
                "num_programs": planner.num_programs,
                "plan_s": plan_s,
            }
        )
    return rows


def claims(table: pd.DataFrame) -> list[Claim]:
    """Claims on the size of a program, on the iterations, and on the time.

    Args:
        table: A row for each number of clients and seed.
    """
    sizes = table.groupby("num_clients")[["num_cells", "num_variables", "num_constraints"]].first()
    num_clients = sizes.index.to_numpy(dtype=float)
    constraints = sizes["num_constraints"] / (12.0 * num_clients + 2.0 * sizes["num_cells"])
    variables = sizes["num_variables"] / (5.0 * num_clients)
    powers = powers_of(table)
    return [
        Claim(
            paper="2 B + 12 U constraints",
            quantities=[
                exactly(f"U = {num:g}, constraints over that", of) for num, of in constraints.items()
            ],
        ),
        Claim(
            paper="5 U variables (here: 4 U, as L does not occur apart from Lbar)",
            quantities=[exactly(f"U = {num:g}, variables over that", of) for num, of in variables.items()],
        ),
        Claim(
            paper=f"the time of an iteration grows with U^{WORST:g} in the worst case (here: at most so)",
            quantities=[Quantity(words="power of U", values=powers, most=WORST)],
            is_required=True,
        ),
        Claim(
            paper=f"Algorithm 2 converges within I = {MOST_PROGRAMS} iterations (here: in fewer)",
            quantities=[
                Quantity(
                    words=f"U = {num:g}, iterations",
                    values=of["num_programs"].to_numpy(dtype=float),
                    most=float(MOST_PROGRAMS),
                )
                for num, of in table.groupby("num_clients")
            ],
        ),
        Claim(
            paper=f"the time of an iteration is nearly linear in U (power below {LINEAR:g}), as clients "
            "share nothing but places",
            quantities=[Quantity(words="power of U", values=powers, most=LINEAR)],
            is_ours=True,
        ),
    ]


def powers_of(table: pd.DataFrame) -> Floats:
    """Power of the number of clients by which the time of a program grows, by least squares; of each seed."""
    own = table.assign(program_s=table["plan_s"] / table["num_programs"])
    times_s = own.pivot(index="num_clients", columns="seed", values="program_s")
    return np.polyfit(np.log(times_s.index.to_numpy(dtype=float)), np.log(times_s.to_numpy()), 1)[0]


def exactly(words: str, value: float) -> Quantity:
    """That a ratio is 1, which no seed changes."""
    return Quantity(words=words, values=[value], least=1.0 - 1e-9, most=1.0 + 1e-9, is_exact=True)


def drawn(table: pd.DataFrame) -> Figure:
    """Time of a program over the number of clients, beside the worst case."""
    picture = Figure(figsize=(5.4, 3.6), layout="constrained")
    axes = picture.subplots()
    program_s = table["plan_s"] / table["num_programs"]
    axes.loglog(table["num_clients"], program_s, "o", color=COLOURS[0], label="Algorithm 2, each seed")
    medians_s = program_s.groupby(table["num_clients"]).median()
    numbers = medians_s.index.to_numpy(dtype=float)
    for power, look in ((1.0, "--"), (WORST, ":")):
        grown_s = medians_s.iloc[0] * (numbers / numbers[0]) ** power
        axes.loglog(numbers, grown_s, look, color="#7a7a7a", label=f"as U^{power:g}")
    axes.minorticks_off()
    axes.set_xticks(numbers, [f"{number:g}" for number in numbers])
    axes.set_xlabel("number U of clients")
    axes.set_ylabel("processor time of an iteration (s)")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return picture
