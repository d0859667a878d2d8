"""Bytes that one run would move if machines shared its cohorts, and how far that would take it.

Nothing here spreads a run. A short run on one core gives processor seconds of training and of the rest, and
the learner its sizes; the second table is arithmetic, for a plan (docs/cluster.md).

    python benchmarks/spread.py
    python benchmarks/spread.py --quick    # small networks, to try the program

First table, measured: parameters that travel; arithmetic (GFLOP) and processor time of a client's update;
time of the main thread for each client's update (its events, and adding the sum of its cohort); processor
time of an evaluation of 8 samples; and the share of the main thread in a round of 1,000 clients, with how
many times as fast that lets a round become (Amdahl).

Second table, arithmetic: seconds of a round of 1,000 clients on one core, on a machine of 64 cores, and on 8
of them. A machine gets a model once (float32) and sends back a sum for each cohort (float64), all through one
wire of the machine that has the clock. Cohorts that do not fill the cores leave some idle. Sums are added as
they come, so a round takes the longest of training, the wire and the main thread, and then the evaluation, on
all cores.
"""

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from gpu_cases import gpt2_lora
from numpy.typing import NDArray
from torch import nn
from typing_extensions import override

import cosim
import models
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.split_data import SplitData
from cosim.engine.learning.cohorts import WORKING_SETS, cohorts
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.resolver import Resolver
from cosim.engine.servers.cloud import VersionReport
from cosim.training.local_steps import SameSteps
from cosim.values.pending import PendingUpdate

NUM_CLIENTS, NUM_CORES, NUM_MACHINES = 1_000, 64, 8
WIRE_BITS_PER_S = (1e9, 10e9, 100e9)
FLOAT32_BYTES, FLOAT64_BYTES = 4, 8
NUM_TEST, NUM_MEASURED = 8, 2


class Case(NamedTuple):
    """A network and what its clients do.

    Attributes:
        network: Makes the network.
        samples: Makes a number of samples and labels.
        num_steps: Local steps of a client in a round.
        batch_size: Samples of a step.
        num_clients: Clients of the measured run.
        num_measured_steps: Local steps of the measured run; the time of training grows in proportion.
    """

    network: Callable[[], nn.Module]
    samples: Callable[[int], tuple[NDArray[Any], NDArray[np.int64]]]
    num_steps: int
    batch_size: int
    num_clients: int
    num_measured_steps: int = 1


class Measured(NamedTuple):
    """Measured costs of a case.

    Attributes:
        num_values: Parameters that travel.
        update_flop: Operations of a client's update.
        update_s: Processor time of a client's update.
        main_update_s: Time of the main thread for a client's update.
        evaluation_s: Processor time of an evaluation.
        num_cohorts: Cohorts of a level of `NUM_CLIENTS`.
    """

    num_values: int
    update_flop: float
    update_s: float
    main_update_s: float
    evaluation_s: float
    num_cohorts: int

    @property
    def main_s(self) -> float:
        """Time of the main thread in a round."""
        return NUM_CLIENTS * self.main_update_s

    @property
    def trained_s(self) -> float:
        """Processor time of training in a round."""
        return NUM_CLIENTS * self.update_s

    def moved_bytes(self, num_machines: int) -> int:
        """Bytes through the wire in a round."""
        each = num_machines * FLOAT32_BYTES + self.num_cohorts * FLOAT64_BYTES
        return self.num_values * each

    @property
    def one_core_s(self) -> float:
        """Time of a round on one core."""
        return self.main_s + self.trained_s + self.evaluation_s

    def times_s(self, num_machines: int, wire_bits_per_s: float) -> dict[str, float]:
        """Time of each of what goes on at the same time in a round on machines."""
        turns = math.ceil(self.num_cohorts / (num_machines * NUM_CORES))
        return {
            "training": turns * self.trained_s / self.num_cohorts,
            "wire": 8 * self.moved_bytes(num_machines) / wire_bits_per_s,
            "main": self.main_s,
        }

    def limit(self, num_machines: int, wire_bits_per_s: float) -> str:
        """Name of what takes longest."""
        times_s = self.times_s(num_machines, wire_bits_per_s)
        return max(times_s, key=times_s.__getitem__)

    def round_s(self, num_machines: int, wire_bits_per_s: float) -> float:
        """Time of a round on machines."""
        evaluated_s = self.evaluation_s / (num_machines * NUM_CORES)
        return max(self.times_s(num_machines, wire_bits_per_s).values()) + evaluated_s


def pictures(size: int, num: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Normal features, and labels of 10 classes."""
    rng = np.random.default_rng(1)
    return rng.standard_normal((num, size), np.float32), rng.integers(0, 10, num)


def texts(num_tokens: int, length: int, num: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token numbers, and labels of 5 classes."""
    rng = np.random.default_rng(1)
    return rng.integers(0, num_tokens, (num, length)), rng.integers(0, 5, num)


GPT2_SMALL = {"num_layers": 12, "width": 768, "num_heads": 12, "num_tokens": 50257}
TINY_GPT2 = {"num_layers": 2, "width": 32, "num_heads": 2, "num_tokens": 50}
CASES = {
    "784-300-10": Case(partial(models.build, "relu-784-300-10"), partial(pictures, 784), 20, 50, 48, 20),
    "ResNet-18, width 16": Case(partial(models.build, "resnet18-16-10"), partial(pictures, 3072), 20, 10, 4),
    "ResNet-18": Case(partial(models.build, "resnet18-64-10"), partial(pictures, 3072), 20, 10, 2),
    "GPT-2 small, LoRA": Case(
        partial(gpt2_lora, **GPT2_SMALL), partial(texts, GPT2_SMALL["num_tokens"], 64), 20, 4, 2
    ),
}
QUICK = {
    "784-300-10": CASES["784-300-10"]._replace(num_steps=2, num_clients=6, num_measured_steps=2),
    "ResNet-18, width 2": Case(partial(models.build, "resnet18-2-10"), partial(pictures, 3072), 2, 4, 2),
    "tiny GPT-2, LoRA": Case(
        partial(gpt2_lora, **TINY_GPT2), partial(texts, TINY_GPT2["num_tokens"], 8), 2, 4, 2
    ),
}


@part
class Made(SplitData):
    """Samples of a case, by its name."""

    case: str = cosim.knob(default="784-300-10")

    @override
    def load(self, sim: cosim.Simulation, data_dir: Path | None) -> Dataset:
        case = (CASES | QUICK)[self.case]
        (train_x, train_y), (test_x, test_y) = case.samples(64 * case.num_clients), case.samples(NUM_TEST)
        num_classes = 1 + int(max(train_y.max(), test_y.max()))
        return Dataset(
            name="made",
            train_x=train_x,
            train_y=train_y,
            test_x=test_x,
            test_y=test_y,
            num_classes=num_classes,
        )


def system_of(name: str, case: Case) -> cosim.System:
    """System of a case, with a model that is evaluated after each of a few rounds."""
    training = cosim.EdgeTraining(
        num_edge_rounds=1,
        steps=SameSteps(num_local_steps=case.num_measured_steps),
        local=cosim.Sgd(batch_size=case.batch_size),
    )
    return cosim.System(
        num_cells=1,
        num_clients=case.num_clients,
        data=Made(case=name, split=cosim.data.Iid()),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=1 + NUM_MEASURED),
    )


def measured(name: str, case: Case) -> Measured:
    """Costs of a case, by a run with fewer clients and steps, on one core."""
    system = system_of(name, case)
    trained_s, heard = 0.0, []
    usual = Resolver._train

    def timed(self: Resolver, call: Any) -> Any:
        nonlocal trained_s
        began_s = time.thread_time()
        found = usual(self, call)
        trained_s += time.thread_time() - began_s
        return found

    def listener(report: VersionReport) -> None:
        heard.append((trained_s, time.thread_time(), time.process_time()))

    Resolver._train = timed
    try:
        cosim.run(system, case.network, num_workers=1, listener=listener, clock="events")
    finally:
        Resolver._train = usual
    took = np.diff(np.array(heard[1:]), axis=0)  # the first round warms up
    of_training_s, main_s, all_s = np.median(took, axis=0)
    dataset = system.data.load(cosim.Simulation(1), None)
    learner = Learner(case.network(), dataset, num_workers=1)
    start = learner.initial_model(key=1)
    learner.compute(start)
    sizes = WORKING_SETS["cpu"]
    sizes = sizes if learner.manner is None or learner.manner.together else sizes._replace(num_clients=1)
    level = [
        PendingUpdate(
            client=f"client{number}",
            model=start,
            samples=np.arange(1),
            num_steps=1,
            training=cosim.Sgd(batch_size=case.batch_size),
            key=number,
        )
        for number in range(NUM_CLIENTS)
    ]
    return Measured(
        num_values=sum(map(math.prod, learner.shape.tensors.values())),
        update_flop=float(learner.flops.of() * case.batch_size * case.num_steps),
        update_s=of_training_s / (case.num_clients * case.num_measured_steps) * case.num_steps,
        main_update_s=main_s / case.num_clients,
        evaluation_s=all_s - main_s - of_training_s,
        num_cohorts=len(list(cohorts(level, dataset.num_features, sizes))),
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    cases = QUICK if parser.parse_args().quick else CASES
    torch.set_num_threads(1)
    found = {name: measured(name, case) for name, case in cases.items()}
    print(f"torch {torch.__version__}, {NUM_CLIENTS:,} clients a round\n")
    in_columns(
        ("parameters", "GFLOP", "s", "GFLOP/s", "main, ms", "evaluation, s", "main / all", "Amdahl"),
        {
            name: (
                f"{own.num_values:,}",
                f"{own.update_flop / 1e9:.2f}",
                f"{own.update_s:.3f}",
                f"{own.update_flop / 1e9 / own.update_s:.0f}",
                f"{1e3 * own.main_update_s:.2f}",
                f"{own.evaluation_s:.2f}",
                f"{own.main_s / own.one_core_s:.2%}",
                f"{own.one_core_s / own.main_s:,.0f}",
            )
            for name, own in found.items()
        },
    )
    print()
    wires = [f"{bits_per_s / 1e9:.0f} Gbit/s" for bits_per_s in WIRE_BITS_PER_S]
    in_columns(
        ("cohorts", "moved, GB", "FLOP/byte", "1 core, s", f"{NUM_CORES} cores, s", *wires, "limit at 10"),
        {
            name: (
                str(own.num_cohorts),
                f"{own.moved_bytes(NUM_MACHINES) / 1e9:.2f}",
                f"{NUM_CLIENTS * own.update_flop / own.moved_bytes(NUM_MACHINES):,.0f}",
                f"{own.one_core_s:,.0f}",
                f"{own.round_s(1, math.inf):.2f}",
                *(f"{own.round_s(NUM_MACHINES, bits_per_s):.2f}" for bits_per_s in WIRE_BITS_PER_S),
                own.limit(NUM_MACHINES, 10e9),
            )
            for name, own in found.items()
        },
    )


def in_columns(heads: Sequence[str], lines: Mapping[str, Sequence[str]]) -> None:
    """Print lines in columns."""
    for name, cells in {"": heads, **lines}.items():
        print(
            f"{name:20}"
            + "".join(f"{cell:>{max(len(head), 8) + 2}}" for head, cell in zip(heads, cells, strict=True))
        )


if __name__ == "__main__":
    main()
