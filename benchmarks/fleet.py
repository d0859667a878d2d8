"""Cost of a timing-only run, from a hundred clients to a million.

Cells of up to 1,000 clients, fading in every edge round and a deadline; by events, on arrays with rows of all
clients, and on arrays with a row for each edge round. Each run has a process of its own, whose processor time
and largest memory are taken, from the configuration to the tables; beginning Python is not counted.

With --lengths nothing but memory over the number of global rounds is measured, of one edge round each, of
10,000 clients whose rows are all kept: in a folder, where row groups are written as the run goes, and in
memory.

    python benchmarks/fleet.py
    python benchmarks/fleet.py --num-edge-rounds 100 --largest 100000 --picture docs/fleet-cost.png
    python benchmarks/fleet.py --lengths 20 200
"""

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import cosim
import models
from cosim.system.needs import ROWS_OF_A_JOB

WAYS: dict[str, tuple[dict[str, Any], int]] = {
    "events": ({"clock": "events"}, 10_000),
    "arrays, all rows": ({"clock": "arrays", "records": "all"}, 100_000),
    "arrays, rounds": ({"clock": "arrays", "records": "rounds"}, 1_000_000),
}
"""Name -> options of a run, and the largest fleet for it."""


class Cost(NamedTuple):
    """Cost of a run."""

    processor_s: float
    peak_gib: float
    num_jobs: int


def fleet(num_clients: int, num_edge_rounds: int, num_global_rounds: int = 1) -> cosim.System:
    """System of `num_clients` clients, up to 1,000 in a cell."""
    training = cosim.EdgeTraining(num_edge_rounds=num_edge_rounds, waiting=cosim.Deadline(deadline_s=60.0))
    return cosim.System(
        num_cells=max(1, num_clients // 1_000),
        num_clients=num_clients,
        data=cosim.FashionMnist(split=cosim.data.Sampled()),
        uplink=cosim.Radio(fading=cosim.Rayleigh(num_antennas=1, redrawn=cosim.radio.EveryEdgeRound())),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=num_global_rounds),
        evaluation=cosim.Never(),
    )


def cost(system: cosim.System, options: dict[str, Any]) -> Cost:
    """Cost of one run."""
    small = fleet(10, 1)
    cosim.run(small, models.build(small.model), num_workers=1)  # what is imported is imported
    start_s = time.process_time()
    result = cosim.run(system, models.build(system.model), num_workers=1, **options)
    processor_s = time.process_time() - start_s
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Cost(processor_s, peak_gib, result.summary.num_updates)


def alone(system: cosim.System, options: dict[str, Any]) -> Cost:
    """Cost of one run, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(cost, system, options).result()


def print_lengths(lengths: list[int]) -> None:
    """Peak memory over the number of global rounds, on arrays."""
    print(f"{'global rounds':>13}{'rows':>13}{'peak GiB, folder':>18}{'in memory':>11}")
    options: dict[str, Any] = {"clock": "arrays", "records": "all"}
    for length in lengths:
        system = fleet(10_000, 1, length)
        with TemporaryDirectory() as folder:
            written = alone(system, options | {"out": Path(folder) / "run"})
        kept = alone(system, options)
        rows = ROWS_OF_A_JOB * written.num_jobs
        print(f"{length:>13,}{rows:>13,}{written.peak_gib:>18.2f}{kept.peak_gib:>11.2f}", flush=True)


def draw(costs: dict[str, dict[int, Cost]], file: Path) -> None:
    """Processor time over clients, logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for (name, of), look in zip(costs.items(), ("s:", "^--", "o-"), strict=True):
        axes.loglog(list(of), [own.processor_s for own in of.values()], look, label=name, color="#0b3c5d")
    axes.set_xlabel("clients")
    axes.set_ylabel("processor time (s)")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(file, dpi=150)


def main() -> None:
    """Read the options, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--num-edge-rounds", type=int, default=10)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--lengths", type=int, nargs="+")
    asked = parser.parse_args()
    if asked.lengths:
        print_lengths(asked.lengths)
        return

    print(f"{asked.num_edge_rounds} edge rounds, one core")
    print(f"{'':18}{'clients':>10}{'processor s':>13}{'client-rounds/s':>17}{'peak GiB':>10}")
    costs: dict[str, dict[int, Cost]] = {name: {} for name in WAYS}
    for name, (options, largest) in WAYS.items():
        for power in range(2, 7):
            num_clients = 10**power
            if num_clients > min(largest, asked.largest):
                continue
            own = alone(fleet(num_clients, asked.num_edge_rounds), options)
            costs[name][num_clients] = own
            rate = own.num_jobs / own.processor_s
            print(f"{name:18}{num_clients:>10,}{own.processor_s:>13.2f}{rate:>17,.0f}{own.peak_gib:>10.2f}")
    if asked.picture:
        draw(costs, asked.picture)


if __name__ == "__main__":
    main()
