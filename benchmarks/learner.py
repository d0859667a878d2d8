"""How fast is the learner, beside a plain loop and beside the machine's matrix products?

Client-steps per second (one SGD step of one client, batch 50; 60 clients of 20 steps each per round), in turn
in one process, so that a slow moment of the machine falls on all:

    loop      one client after the other: nn.Module, autograd, torch.optim.SGD; the faster of torch's own
              number of threads and of one
    autograd  the learner, gradients by torch.func (a network that does not declare relu_layers)
    learner   the learner: pending updates -> mean -> weights
    ceiling   nothing but the matrix products of the same steps (forward, weight gradient, hidden gradient),
              on as many threads as the learner has; the faster of client by client and of cohorts in one call

Medians over the repetitions. learner/ceiling says what gathering mini-batches, ReLU, softmax, Python and the
mean cost; learner/loop says what batching gains. Where matrices are small the ceiling is call overhead, not
arithmetic.

    python benchmarks/learner.py
    python benchmarks/learner.py --repetitions 15 --networks relu-64-32-10 --num-workers 1 2
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import numpy as np
import torch
from torch import Tensor, nn

import models
from cosim.data.dataset import Dataset
from cosim.engine.learning.cohorts import WORKING_SETS, cohorts
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.workers import num_cores
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate

NUM_CLIENTS, NUM_STEPS, BATCH_SIZE, LEARNING_RATE = 60, 20, 50, 0.01
NETWORKS = ("relu-784-300-10", "relu-784-75-10", "relu-64-32-10")
LEAST_TIME_S = 0.15
"""Each timing spans as many rounds as take about this long."""


def synthetic_dataset(num_features: int, num_classes: int) -> Dataset:
    """Normal features and random labels; 1000 samples for each client, as Fashion-MNIST over 60 clients."""
    rng = np.random.default_rng(1)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.standard_normal((count, num_features), np.float32), rng.integers(0, num_classes, count)

    (train_x, train_y), (test_x, test_y) = draw(1000 * NUM_CLIENTS), draw(1000)
    return Dataset(
        name="benchmark",
        train_x=train_x,
        train_y=train_y,
        test_x=test_x,
        test_y=test_y,
        num_classes=num_classes,
    )


def updates_from(start: PendingModel) -> list[PendingUpdate]:
    """One round of all clients."""
    return [
        PendingUpdate(
            client=f"client{i}",
            model=start,
            samples=np.arange(1000 * i, 1000 * (i + 1)),
            num_steps=NUM_STEPS,
            training=Sgd(batch_size=BATCH_SIZE, learning_rate=LEARNING_RATE),
            key=i,
        )
        for i in range(NUM_CLIENTS)
    ]


def loop_round(
    network: nn.Module, start: dict[str, Tensor], x: Tensor, y: Tensor, num_threads: int
) -> dict[str, Tensor]:
    """The plain way: one client after the other, then the mean."""
    usual = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    total = {name: torch.zeros_like(values) for name, values in start.items()}
    for i in range(NUM_CLIENTS):
        network.load_state_dict(start)
        optimizer = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE)
        samples = np.arange(1000 * i, 1000 * (i + 1))
        for batch in torch.from_numpy(mini_batches(samples, NUM_STEPS, BATCH_SIZE, key=i)):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()
        for name, values in network.state_dict().items():
            total[name] += values / NUM_CLIENTS
    torch.set_num_threads(usual)
    return total


def learner_round(learner: Learner) -> None:
    """The learner's way: ask, average, read."""
    learner.weights(mean(updates_from(learner.initial_model(key=1))))


def products(sizes: list[int], num_clients: int, batched: bool) -> None:
    """The matrix products of one cohort's training, in place and without anything else."""
    lead = (num_clients,) if batched else ()
    layers = [torch.zeros(*lead, o, i) for i, o in pairwise(sizes)]
    values = [torch.zeros(*lead, BATCH_SIZE, size) for size in sizes]
    forward, backward = ([torch.empty_like(v) for v in values] for _ in range(2))
    multiply = torch.bmm if batched else torch.mm
    for _ in range(NUM_STEPS if batched else NUM_STEPS * num_clients):
        for depth, layer in enumerate(layers):
            multiply(values[depth], layer.mT, out=forward[depth + 1])
        for depth in reversed(range(len(layers))):
            if depth > 0:
                multiply(values[depth + 1], layers[depth], out=backward[depth])
            if batched:
                layers[depth].baddbmm_(values[depth + 1].mT, values[depth], alpha=-LEARNING_RATE)
            else:
                layers[depth].addmm_(values[depth + 1].mT, values[depth], alpha=-LEARNING_RATE)


def ceiling_round(learner: Learner, sizes: list[int], cohort_sizes: list[int], batched: bool) -> None:
    """The products of all cohorts on the learner's own threads."""
    for _ in learner.workers.in_order([partial(products, sizes, size, batched) for size in cohort_sizes]):
        pass


def duration_s(work: Callable[[], object], num_rounds: int) -> float:
    """Seconds per round."""
    begin_s = time.perf_counter()
    for _ in range(num_rounds):
        work()
    return (time.perf_counter() - begin_s) / num_rounds


def measure(name: str, repetitions: int, num_workers: int) -> dict[str, float]:
    """Client-steps per second of each way, medians over the repetitions."""
    sizes = [int(size) for size in name.split("-")[1:]]
    dataset = synthetic_dataset(sizes[0], sizes[-1])
    network = models.build(name)
    learner = Learner(network, dataset, num_workers=num_workers)
    undeclared = models.build(name)
    del undeclared.relu_layers
    by_autograd = Learner(undeclared, dataset, num_workers=num_workers)
    start = {k: v.clone() for k, v in network.state_dict().items()}
    first = learner.initial_model(key=1)
    learner.weights(first)
    cohort_sizes = [len(c) for c in cohorts(updates_from(first), sizes[0], WORKING_SETS["cpu"])]
    x, y = torch.from_numpy(dataset.train_x), torch.from_numpy(dataset.train_y)
    ways = {
        "loop": partial(loop_round, network, start, x, y, torch.get_num_threads()),
        "loop on one thread": partial(loop_round, network, start, x, y, 1),
        "autograd": partial(learner_round, by_autograd),
        "learner": partial(learner_round, learner),
        "client by client": partial(ceiling_round, learner, sizes, cohort_sizes, False),
        "cohorts": partial(ceiling_round, learner, sizes, cohort_sizes, True),
    }
    num_rounds = {way: max(1, round(LEAST_TIME_S / duration_s(work, 1))) for way, work in ways.items()}
    durations_s: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repetitions):
        for way, work in ways.items():
            durations_s[way].append(duration_s(work, num_rounds[way]))
    return {way: NUM_CLIENTS * NUM_STEPS / statistics.median(d) for way, d in durations_s.items()}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "--networks", nargs="+", default=NETWORKS, metavar="NAME", help="ReLU networks by name"
    )
    parser.add_argument("--repetitions", type=int, default=5, help="timings of each way (default: 5)")
    parser.add_argument(
        "--num-workers",
        type=int,
        nargs="+",
        default=[num_cores()],
        metavar="NUM",
        help="the learner's threads, one or several numbers (default: one per core)",
    )
    options = parser.parse_args()
    print(f"torch {torch.__version__}, client-steps per second, medians of {options.repetitions}")
    columns = ("loop", "autograd", "learner", "ceiling", "GFLOP/s", "learner/ceiling", "learner/loop")
    print(f"{'network':16}{'threads':>8}" + "".join(f"{c:>{max(10, len(c) + 2)}}" for c in columns))
    for name, num_workers in product(options.networks, options.num_workers):
        rates = measure(name, options.repetitions, num_workers)
        sizes = [int(size) for size in name.split("-")[1:]]
        matrices = [i * o for i, o in pairwise(sizes)]
        flops_per_step = 2 * BATCH_SIZE * (3 * sum(matrices) - matrices[0])
        loop = max(rates["loop"], rates["loop on one thread"])
        ceiling = max(rates["client by client"], rates["cohorts"])
        cells = (
            f"{loop:.0f}",
            f"{rates['autograd']:.0f}",
            f"{rates['learner']:.0f}",
            f"{ceiling:.0f}",
            f"{ceiling * flops_per_step / 1e9:.0f}",
            f"{rates['learner'] / ceiling:.2f}",
            f"{rates['learner'] / loop:.1f}",
        )
        row = "".join(f"{v:>{max(10, len(c) + 2)}}" for c, v in zip(columns, cells, strict=True))
        print(f"{name:16}{num_workers:8}{row}", flush=True)


if __name__ == "__main__":
    main()
