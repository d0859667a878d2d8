"""How far is the paper's Algorithm 2 from the optimum of an edge round, and how long do both take?

Random drops of the RawHFL paper's setting (Section V-A): cells of 12 clients within 400 m, of which 4 are
selected and up to 2 of 4 may be repeated. Of all drops, one way after the other:

    exact           scenarios.papers.rawhfl.plans.exact
    floors          the same, where no frequency may lie below 0.3 GHz and no power below 0 dBm [no source],
                    as the slowest processor state and the softest transmission of a device would have it
    Algorithm 2     scenarios.papers.rawhfl.plans.successive_approximation with the paper's rho and I, and
                    with I = 1

Objective and steps are means; energy is the mean per selected client and edge round (the paper's Table II has
2848 J over 400 edge rounds of 16 clients, 0.445 J). Time is the median of planning one edge round, without
the first plan of a planner, which also compiles its program. "gap" is the distance of the mean objective from
the exact one, "broken" counts plans that break a constraint.

    python benchmarks/allocation.py
    python benchmarks/allocation.py --clients 48 --drops 300
    python benchmarks/allocation.py --algorithm-limit 480
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import attrs
import numpy as np

from cosim.units import dbm_to_w
from scenarios.papers.rawhfl.plans import exact
from scenarios.papers.rawhfl.plans.problem import Plan, Problem
from scenarios.papers.rawhfl.plans.successive_approximation import SuccessiveApproximation
from scenarios.reproduce.rawhfl.drops import CLIENTS_PER_CELL, drop

PAPER_J = 2848.16 / 400 / 16


def with_floors(problem: Problem) -> Problem:
    """The same, at 0.3 GHz and 0 dBm at least."""
    floors_hz, floors_w = (np.full(problem.num_clients, floor) for floor in (0.3e9, dbm_to_w(0.0)))
    return attrs.evolve(problem, min_frequency_hz=floors_hz, min_power_w=floors_w)


class Row(NamedTuple):
    """Outcome of a way on all drops."""

    objective: float
    energy_j: float
    num_steps: float
    median_s: float
    num_broken: int


def measure(way: Callable[[Problem], Plan], problems: list[Problem]) -> Row:
    """Plan every problem, after one plan that does not count."""
    way(problems[0])
    plans, times_s = [], []
    for problem in problems:
        begin_s = time.perf_counter()
        plans.append(way(problem))
        times_s.append(time.perf_counter() - begin_s)
    pairs = list(zip(plans, problems, strict=True))
    return Row(
        objective=statistics.fmean(plan.objective(problem) for plan, problem in pairs),
        energy_j=float(np.concatenate([plan.energy_j(q)[plan.is_selected] for plan, q in pairs]).mean()),
        num_steps=float(np.concatenate([plan.num_steps[plan.is_selected] for plan in plans]).mean()),
        median_s=statistics.median(times_s),
        num_broken=sum(bool(plan.violations(problem)) for plan, problem in pairs),
    )


def rows(problems: list[Problem], with_algorithm: bool, with_one_iteration: bool) -> dict[str, Row]:
    """All ways, the exact one first."""
    cell, floored = problems[0].cell, [with_floors(problem) for problem in problems]
    found = {"exact": measure(exact.plan, problems), "exact, floors": measure(exact.plan, floored)}
    if with_algorithm:
        planner = SuccessiveApproximation(cell)
        found["Algorithm 2"] = measure(planner.plan, problems)
        found["Algorithm 2, floors"] = measure(planner.plan, floored)
    if with_algorithm and with_one_iteration:
        once = SuccessiveApproximation(cell, max_iterations=1)
        found["Algorithm 2, I = 1"] = measure(once.plan, problems)
    return found


def print_table(num_clients: int, num_drops: int, found: dict[str, Row]) -> None:
    """One line for each way, and what it is beside the exact solution of the same problems."""
    print(f"\n{num_clients} clients, {num_drops} drops")
    columns = ("objective", "gap", "J/client", "J/exact's", "steps", "ms", "ms/exact's", "broken")
    print(f"{'':20}" + "".join(f"{column:>12}" for column in columns))
    for name, row in found.items():
        base = found["exact, floors"] if name.endswith("floors") else found["exact"]
        cells = (
            f"{row.objective:.5f}",
            f"{row.objective - base.objective:.5f}",
            f"{row.energy_j:.5f}",
            f"{row.energy_j / base.energy_j:.1f}",
            f"{row.num_steps:.2f}",
            f"{1e3 * row.median_s:.2f}",
            f"{row.median_s / base.median_s:.1f}",
            f"{row.num_broken}",
        )
        print(f"{name:20}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    sizes = [48, 480, 4800]
    parser.add_argument(
        "--clients", type=int, nargs="+", default=sizes, help="clients (default: 48 480 4800)"
    )
    parser.add_argument(
        "--drops", type=int, default=100, help="drops of 48 clients; fewer of more, 3 at least (default: 100)"
    )
    parser.add_argument(
        "--algorithm-limit", type=int, default=4800, help="most clients for Algorithm 2 (default: 4800)"
    )
    options = parser.parse_args()
    if min(options.clients) < CLIENTS_PER_CELL or any(n % CLIENTS_PER_CELL for n in options.clients):
        parser.error(f"--clients must be multiples of {CLIENTS_PER_CELL}, the clients of a cell")
    if options.drops < 1:
        parser.error("--drops must be at least 1")
    print(
        f"python {sys.version.split()[0]}, numpy {np.__version__}; paper's Table II: {PAPER_J:.3f} J/client"
    )
    total_broken = 0
    for num_clients in options.clients:
        num_drops = min(options.drops, max(3, math.ceil(options.drops * 48 / num_clients)))
        problems = [drop(num_clients // CLIENTS_PER_CELL, seed) for seed in range(1, num_drops + 1)]
        is_small = num_clients <= options.algorithm_limit
        found = rows(problems, with_algorithm=is_small, with_one_iteration=num_clients <= 480)
        print_table(num_clients, num_drops, found)
        total_broken += sum(row.num_broken for row in found.values())
    if total_broken:
        sys.exit(f"{total_broken} plans break a constraint")


if __name__ == "__main__":
    main()
