"""Stages: where a whole run of cosim spends its time, from the start of its process to its end.

    python -m benchmarks.peers.stages                                # W1, on two cores
    python -m benchmarks.peers.stages --work W3 --cores 1 --repetitions 1

Processor time of all threads, and wall time; medians. "products" are the matrix products of the same steps
and nothing else, on one thread: the part of the rounds that every tool has to compute.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import work
from benchmarks.peers.took import took

ENDS, TORCH, COSIM, READING = "Python's start and end", "import torch", "import cosim", "reading the samples"
CHECKS, ROUNDS, PRODUCTS, WHOLE = "hash, trials, checks", "rounds", "  products", "whole"
ORDER = (ENDS, TORCH, COSIM, READING, CHECKS, ROUNDS, PRODUCTS, WHOLE)

STAGED, NUM_CORES = "W1", 2
"""Work whose stages are on the page, and cores."""

Spent = NDArray[np.float64]
"""Processor time and wall time in s, shape (2,)."""


def now() -> Spent:
    """Processor time of the process, and wall time since some instant."""
    return np.array([time.process_time(), time.perf_counter()])


def stages(name: str, samples: Path) -> dict[str, Spent]:
    """Times of the stages of this process, which runs a work that learns; all but its start and end."""
    begun = now()
    import torch  # noqa: F401

    with_torch = now()
    import cosim
    from benchmarks.peers import in_cosim

    with_cosim, read, heard = now(), np.zeros(2), list[Spent]()
    read_samples = work.read_samples

    def timed(*of: Any) -> work.Samples:
        nonlocal read
        start = now()
        found = read_samples(*of)
        read = read + now() - start
        return found

    work.read_samples = timed
    system, network = in_cosim.system(name), in_cosim.network(name)
    cosim.run(system, network, data_dir=samples, listener=lambda _: heard.append(now()))
    return {
        TORCH: with_torch - begun,
        COSIM: with_cosim - with_torch,
        READING: read,
        CHECKS: heard[0] - with_cosim - read,
        ROUNDS: now() - heard[0],
    }


def products(name: str) -> Spent:
    """The matrix products of a work, client by client or all in one call: the faster."""
    from benchmarks import learner
    from benchmarks.peers import in_ceiling

    own, sizes, found = work.LEARNING[name], in_ceiling.sizes_of(name), list[Spent]()
    for num_clients in (1, own.num_participants):
        start = now()
        for _ in range(own.num_rounds * own.num_participants // num_clients):
            learner.products(sizes, num_clients, num_clients > 1)
        found.append(now() - start)
    return np.minimum(*found)


def measured(name: str, num_cores: int, repetitions: int) -> dict[str, Spent]:
    """Medians of the stages, each repetition in processes of its own."""
    found: dict[str, list[Spent]] = {stage: [] for stage in ORDER}
    command = [sys.executable, "-m", "benchmarks.peers.stages", "--work", name]
    with TemporaryDirectory() as folder:
        work.write_samples(name, Path(folder))
        for _ in range(repetitions):
            run = took([*command, "--samples", folder], num_cores, num_cores)
            of = {stage: np.array(spent) for stage, spent in run.told.items()}
            of[WHOLE] = np.array([run.processor_s, run.wall_s])
            of[ENDS] = 2.0 * of[WHOLE] - sum(of.values())
            if name != "W2":
                of[PRODUCTS] = np.array(took([*command, "--products"], 1, 1).told[PRODUCTS])
            for stage, spent in of.items():
                found[stage].append(spent)
    return {stage: np.median(of, 0) for stage, of in found.items() if of}


def table(of: dict[str, Spent]) -> str:
    """Stages in their order."""
    lines = [f"{'':24}processor s   wall s"]
    return "\n".join(lines + [f"{stage:24}{spent[0]:11.2f}{spent[1]:9.2f}" for stage, spent in of.items()])


def main() -> None:
    """Run a work some times, and print the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", default=STAGED, choices=list(work.LEARNING))
    parser.add_argument("--cores", type=int, default=NUM_CORES)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--samples", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--products", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.products:
        tell({PRODUCTS: products(asked.work)})
    elif asked.samples is not None:
        tell(stages(asked.work, asked.samples))
    else:
        print(table(measured(asked.work, asked.cores, asked.repetitions)))


def tell(of: dict[str, Spent]) -> None:
    """Print times for the process that has started this one."""
    print(json.dumps({stage: spent.tolist() for stage, spent in of.items()}))


if __name__ == "__main__":
    main()
