"""How often do the intervals of `cosim validate delay-laws` contain the closed form's number?

Each law runs many times, in short runs on the clock with seeds of their own, and its 95 % intervals are made
as the validation makes them. Printed are, for each number, the share of runs flagged too noisy, the coverage
of all runs and that of the unflagged ones, in %. Runs are as short as a law's intervals allow
(`Law.shortest`). Exact numbers are left out. The table is written after every law, and what it has of laws
that are not asked for stays in it.

    python benchmarks/delay_coverage.py
    python benchmarks/delay_coverage.py --replications 50 --laws mm1 barrier
    python benchmarks/delay_coverage.py --out docs/laws-coverage.csv       # what docs/laws.md shows
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from scenarios.validate.delays.laws import LAWS, laws_of
from scenarios.validate.law_clock import LawClock

LEVEL = 0.95
FIRST_SEED = 1000
"""Seeds of their own, none of which a validation is likely to have."""


def rows_of(name: str, seed: int) -> list[tuple[str, str, bool, bool]]:
    """Of each number of a run: its name, method, whether it is flagged, and whether it covers."""
    law = LAWS[name]
    theory, found = law.predict(), law.simulate(LawClock(seed=seed, size=law.shortest))
    intervals = {quantity: sample.interval(LEVEL) for quantity, sample in found.items()}
    return [
        (quantity, found[quantity].method, interval.too_noisy, interval.contains(theory[quantity]))
        for quantity, interval in intervals.items()
        if found[quantity].method != "exact"
    ]


def coverage(name: str, replications: int, pool: ProcessPoolExecutor) -> list[dict[str, object]]:
    """A row for each number of a law."""
    seeds = range(FIRST_SEED, FIRST_SEED + replications)
    runs = list(pool.map(rows_of, [name] * replications, seeds))
    rows: list[dict[str, object]] = []
    for of_quantity in zip(*runs, strict=True):
        flagged, covered = (np.array([run[place] for run in of_quantity]) for place in (2, 3))
        unflagged = float(covered[~flagged].mean()) if not flagged.all() else float("nan")
        rows.append(
            {
                "law": name,
                "quantity": of_quantity[0][0],
                "method": of_quantity[0][1],
                "num_runs": replications,
                "flagged": float(flagged.mean()),
                "covered": float(covered.mean()),
                "covered_unflagged": unflagged,
            }
        )
    return rows


def keep(rows: list[dict[str, object]], name: str, path: Path) -> None:
    """Write a law's rows into the table, in the order of the laws."""
    table = pd.DataFrame(rows)
    if path.exists():
        before = pd.read_csv(path)
        table = pd.concat([before[before["law"] != name], table], ignore_index=True)
    places = {law: place for place, law in enumerate(LAWS)}
    table = table.sort_values("law", key=lambda laws: laws.map(places), kind="stable")
    table.round(6).to_csv(path, index=False)


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--replications", type=int, default=200, help="runs of each law (default: 200)")
    parser.add_argument("--laws", nargs="*", default=[], help="names of laws (default: all)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--out", type=Path, help="where the table is written as CSV (default: nowhere)")
    options = parser.parse_args()
    print(f"{'law':18s}{'quantity':40s}{'interval by':13s}  flag   all unfl.")
    with ProcessPoolExecutor(options.workers) as pool:
        for name in laws_of(options.laws):
            rows = coverage(name, options.replications, pool)
            if options.out is not None:
                keep(rows, name, options.out)
            for row in rows:
                shares = (row[share] for share in ("flagged", "covered", "covered_unflagged"))
                numbers = " ".join(f"{100.0 * float(str(share)):5.1f}" for share in shares)
                print(f"{row['law']:18}{row['quantity']:40}{row['method']:13} {numbers}", flush=True)
    error = np.sqrt(LEVEL * (1.0 - LEVEL) / options.replications)
    print(f"Standard error of a coverage of 95 %: {100.0 * error:.1f} % at {options.replications} runs")


if __name__ == "__main__":
    main()
