"""How fast is training on recurring rows, beside whole mini-batches and beside a plain loop?

Client-steps per second (one SGD step of one client, batch 320; 16 clients of 50 steps each per round, 100
samples each, of 25 distinct feature rows or of numbers spread evenly between two given ones), in turn in one
process, so that a slow moment of the machine falls on all:

    loop      one client after the other: nn.Module, autograd, torch.optim.SGD on whole mini-batches; the
              faster of one and of all torch threads
    samples   the learner on an ordinary data set of the same samples: whole mini-batches in cohorts
    rows      the learner on the table of rows: every distinct row once per step
    ceiling   nothing but the matrix products of the steps on these rows, client by client, on as many threads
              as the learner has

Medians over the repetitions. rows/ceiling says what drawing and counting mini-batches, ReLU, softmax, biases,
Python and the mean cost.

    python benchmarks/recurring_rows.py
    python benchmarks/recurring_rows.py --num-rows 10 40 --repetitions 9
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import torch

import models
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.papers.rawhfl.recurring_rows import RecurringRows

MODEL = "mlp-43-512-256-256"
NUM_FEATURES, *_, NUM_CLASSES = SIZES = [int(size) for size in MODEL.split("-")[1:]]
NUM_CLIENTS, NUM_SAMPLES, NUM_STEPS, BATCH_SIZE, LEARNING_RATE = 16, 100, 50, 320, 0.05


def datasets(num_rows: list[int]) -> tuple[Dataset, Dataset, list[np.ndarray]]:
    """The table of rows, the same samples one by one, and the numbers row * classes + label of each client.

    In the second data set client i has the samples from NUM_SAMPLES * i on.
    """
    rng = np.random.default_rng(1)
    table = rng.standard_normal((NUM_CLIENTS * NUM_SAMPLES, NUM_FEATURES), np.float32)
    labels = rng.integers(0, NUM_CLASSES, (NUM_CLIENTS, NUM_SAMPLES))
    numbers = [
        (NUM_SAMPLES * i + np.arange(NUM_SAMPLES) % num_rows[i]) * NUM_CLASSES + labels[i]
        for i in range(NUM_CLIENTS)
    ]
    test = {"test_x": table[:1], "test_y": np.zeros(1, np.int64), "num_classes": NUM_CLASSES}
    rows = Dataset(name="rows", train_x=table, train_y=None, batching=RecurringRows, **test)
    samples_x = table[np.concatenate(numbers) // NUM_CLASSES]
    return rows, Dataset(name="samples", train_x=samples_x, train_y=labels.ravel(), **test), numbers


def loop_round(dataset: Dataset, num_threads: int) -> None:
    """The plain way: one client after the other, then the mean."""
    network = models.build(MODEL)
    start = {name: values.clone() for name, values in network.state_dict().items()}
    total = {name: torch.zeros_like(values) for name, values in start.items()}
    x, y = torch.tensor(dataset.train_x), torch.tensor(dataset.train_y)
    usual = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    for i in range(NUM_CLIENTS):
        network.load_state_dict(start)
        optimizer = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE)
        samples = np.arange(NUM_SAMPLES * i, NUM_SAMPLES * (i + 1))
        for batch in torch.from_numpy(mini_batches(samples, NUM_STEPS, BATCH_SIZE, key=i)):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()
        for name, values in network.state_dict().items():
            total[name] += values / NUM_CLIENTS
    torch.set_num_threads(usual)


def learner_round(learner: Learner, clients: list[np.ndarray]) -> None:
    """The learner's way: ask, average, read."""
    start = learner.initial_model(key=1)
    updates = [
        PendingUpdate(
            client=f"client{i:02}",
            model=start,
            samples=samples,
            num_steps=NUM_STEPS,
            training=Sgd(batch_size=BATCH_SIZE, learning_rate=LEARNING_RATE),
            key=i,
        )
        for i, samples in enumerate(clients)
    ]
    learner.weights(mean(updates))


def products(num_rows: int) -> None:
    """The matrix products of one client's training on its rows, without anything else."""
    layers = [torch.zeros(num_outputs, num_inputs) for num_inputs, num_outputs in pairwise(SIZES)]
    values = [torch.zeros(num_rows, size) for size in SIZES]
    results = [torch.empty_like(v) for v in values]
    for _ in range(NUM_STEPS):
        for depth, layer in enumerate(layers):
            torch.mm(values[depth], layer.T, out=results[depth + 1])
        for depth in reversed(range(len(layers))):
            if depth > 0:
                torch.mm(values[depth + 1], layers[depth], out=results[depth])
            layers[depth].addmm_(values[depth + 1].T, values[depth], alpha=-LEARNING_RATE)


def ceiling_round(learner: Learner, num_rows: list[int]) -> None:
    """The products of all clients on the learner's own threads."""
    for _ in learner.workers.in_order([partial(products, number) for number in num_rows]):
        pass


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repetitions", type=int, default=5, help="timings of each way (default: 5)")
    parser.add_argument(
        "--num-rows", type=int, nargs=2, default=(25, 25), metavar=("LEAST", "MOST"), help="distinct rows"
    )
    options = parser.parse_args()
    least, most = options.num_rows
    if options.repetitions < 1 or not 1 <= least <= most <= NUM_SAMPLES:
        parser.error(f"--repetitions must be at least 1, --num-rows from 1 to {NUM_SAMPLES}, least first")
    num_rows = [least + (most - least) * i // (NUM_CLIENTS - 1) for i in range(NUM_CLIENTS)]
    table, samples, numbers = datasets(num_rows)
    on_rows, on_samples = (Learner(models.build(MODEL), dataset) for dataset in (table, samples))
    indices = np.split(np.arange(NUM_CLIENTS * NUM_SAMPLES), NUM_CLIENTS)
    ways: dict[str, Callable[[], None]] = {
        "one": partial(loop_round, samples, 1),
        "all": partial(loop_round, samples, torch.get_num_threads()),
        "samples": partial(learner_round, on_samples, indices),
        "rows": partial(learner_round, on_rows, numbers),
        "ceiling": partial(ceiling_round, on_rows, num_rows),
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for repetition in range(options.repetitions + 1):
        for way, work in ways.items():
            begin_s = time.perf_counter()
            work()
            if repetition > 0:  # the first call of a program is slower
                rates[way].append(NUM_CLIENTS * NUM_STEPS / (time.perf_counter() - begin_s))
    found = {way: statistics.median(values) for way, values in rates.items()}
    loop = max(found["one"], found["all"])
    print(
        f"torch {torch.__version__}, {MODEL}, {least} to {most} of {NUM_SAMPLES} rows distinct, "
        f"client-steps per second, medians of {options.repetitions}"
    )
    print(
        f"{'loop':>9}{'samples':>9}{'rows':>9}{'ceiling':>9}{'rows/ceiling':>14}{'rows/samples':>14}", end=""
    )
    print(f"{'rows/loop':>11}")
    rows = found["rows"]
    print(f"{loop:9.0f}{found['samples']:9.0f}{rows:9.0f}{found['ceiling']:9.0f}", end="")
    print(f"{rows / found['ceiling']:14.2f}{rows / found['samples']:14.1f}{rows / loop:11.1f}", flush=True)


if __name__ == "__main__":
    main()
