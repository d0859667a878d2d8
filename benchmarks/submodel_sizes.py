"""How long does it take to find the sizes of submodels that make the slowest cell fastest?

Random cells, of a model of 300 hidden units (3000 for 100 cells), sizes of at most 1.5 equal parts:

    direct      cosim.protocols.latency_optimal: fill to a common time, round down, hand out what is left
    program     problem (21) as a mixed-integer linear program, cvxpy with HiGHS, compiled once

Times are medians over the instances; "slower" counts instances in which the direct sizes are slower than the
program's, "equal sizes" is the mean share of the equal sizes' time that is left.

    python benchmarks/submodel_sizes.py
"""

import argparse
import statistics
import time
from typing import Any

import cvxpy as cp
import numpy as np

from cosim.protocols.latency_optimal import largest_size, latency_optimal_sizes

CASES = ((4, 300), (20, 300), (100, 3000))
"""Cells and units."""
LARGEST = 1.5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=100, help="random cells of each number")
    options = parser.parse_args()
    print(f"{options.instances} instances each")
    print(f"{'cells':>6}{'units':>7}{'direct, us':>13}{'program, us':>13}{'slower':>8}{'equal sizes':>13}")
    for num_cells, num_units in CASES:
        rng = np.random.default_rng(1)
        sizes, slowest_s = cp.Variable(num_cells, integer=True), cp.Variable()
        unit_s = cp.Parameter(num_cells, pos=True)
        cap = largest_size(num_units, num_cells, LARGEST)
        rules = [
            cp.multiply(unit_s, sizes) <= slowest_s,
            cp.sum(sizes) == num_units,
            sizes >= 1,
            sizes <= cap,
        ]
        program = cp.Problem(cp.Minimize(slowest_s), rules)
        direct_us, program_us, gained, num_slower = [], [], [], 0
        for _ in range(options.instances):
            times_s = rng.uniform(1e-3, 4e-3, num_cells)
            begin_s = time.perf_counter()
            found = latency_optimal_sizes(
                [0.0] * num_cells, list(times_s), num_units=num_units, largest=LARGEST
            )
            direct_us.append(1e6 * (time.perf_counter() - begin_s))
            unit_s.value = times_s
            begin_s = time.perf_counter()
            optimum_s: Any = program.solve(solver=cp.HIGHS)
            program_us.append(1e6 * (time.perf_counter() - begin_s))
            found_s = float(np.max(times_s * found))
            num_slower += found_s > optimum_s * (1.0 + 1e-6)
            gained.append(found_s / (times_s.max() * np.ceil(num_units / num_cells)))
        print(
            f"{num_cells:6}{num_units:7}{statistics.median(direct_us):13.1f}{statistics.median(program_us):13.0f}"
            f"{num_slower:8}{statistics.mean(gained):13.3f}"
        )


if __name__ == "__main__":
    main()
