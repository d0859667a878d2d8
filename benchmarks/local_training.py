"""How fast are the rules of local training, beside loops of torch.optim?

Local steps per second of processor time, and in brackets of wall time, over all clients, of one round of 60
clients with 20 steps each, in turn in one process, so that a slow moment of the machine falls on all:

    loop      one client after the other with an optimiser of torch, by hand for proximal and SCAFFOLD; on one
              torch thread
    learner   the same updates read as one mean, with one worker
    of sgd    the learner's rate over that of plain SGD

and for a torch function of one's own (`TorchFunction`), with as many threads on both sides, the same function
called by a hand-written loop on a pool of threads. Processor time depends less on other programs. Medians
over the repetitions; ratios are medians of the ratios within a repetition.

    python benchmarks/local_training.py
"""

import argparse
import copy
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

import models
from cosim import Sgd
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.workers import num_cores
from cosim.training import Adam, LocalTraining, Momentum, Proximal, Scaffold, TorchFunction
from cosim.training.programs.sgd_steps import mini_batches
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate

NUM_CLIENTS, NUM_SAMPLES, NUM_STEPS, BATCH, RATE = 60, 200, 20, 50, 0.05
Optimizer = Callable[..., torch.optim.Optimizer]


def plain(parameters: Iterator[nn.Parameter]) -> torch.optim.Optimizer:
    """SGD, which proximal and SCAFFOLD change by hand."""
    return torch.optim.SGD(parameters, lr=RATE)


RULES: dict[str, tuple[LocalTraining, Optimizer, float]] = {
    "sgd": (Sgd(batch_size=BATCH, learning_rate=RATE), plain, 0.0),
    "momentum": (
        Momentum(batch_size=BATCH, learning_rate=RATE),
        lambda p: torch.optim.SGD(p, lr=RATE, momentum=0.9),
        0.0,
    ),
    "momentum kept": (
        Momentum(batch_size=BATCH, learning_rate=RATE, keeps_state=True),
        lambda p: torch.optim.SGD(p, lr=RATE, momentum=0.9),
        0.0,
    ),
    "adam": (Adam(batch_size=BATCH), lambda p: torch.optim.Adam(p, lr=0.001), 0.0),
    "proximal": (Proximal(batch_size=BATCH, learning_rate=RATE, mu=0.1), plain, 0.1),
    "scaffold": (Scaffold(batch_size=BATCH, learning_rate=RATE), plain, 0.1),
}
"""Rule, what a loop has in its place, and the weight of a correction that the loop adds to gradients."""


def function(network: nn.Module, batches: Iterator[tuple[Tensor, Tensor]], state: dict, rng: object) -> None:
    """SGD of torch, as a user writes it."""
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()


def drawn(num_features: int) -> Dataset:
    """Samples without a meaning."""
    rng = np.random.default_rng(1)
    return Dataset(
        name="drawn",
        train_x=rng.standard_normal((NUM_CLIENTS * NUM_SAMPLES, num_features), dtype=np.float32),
        train_y=rng.integers(0, 10, NUM_CLIENTS * NUM_SAMPLES),
        test_x=np.zeros((1, num_features), np.float32),
        test_y=np.zeros(1, np.int64),
        num_classes=10,
    )


def updates(start: PendingModel, rule: LocalTraining) -> list[PendingUpdate]:
    """Of all clients."""
    return [
        PendingUpdate(
            client=f"client-{n:04d}",
            model=start,
            samples=np.arange(n * NUM_SAMPLES, (n + 1) * NUM_SAMPLES),
            num_steps=NUM_STEPS,
            training=rule,
            key=n,
        )
        for n in range(NUM_CLIENTS)
    ]


class Rates(NamedTuple):
    """Local steps per second of processor time and of wall time."""

    processor: float
    wall: float


class Watch:
    """Both times since now."""

    def __init__(self) -> None:
        self._begin_s = time.process_time(), time.perf_counter()

    def rates(self) -> Rates:
        """Of a round that ends now."""
        processor_s, wall_s = self._begin_s
        num_steps = NUM_CLIENTS * NUM_STEPS
        return Rates(
            num_steps / (time.process_time() - processor_s), num_steps / (time.perf_counter() - wall_s)
        )


def by_learner(learner: Learner, rule: LocalTraining) -> Rates:
    """Of a round by the learner, states included."""
    start = learner.stored_model(learner.weights(learner.initial_model(1)))
    watch = Watch()
    asked = updates(start, rule)
    states = [update.next_state for update in asked] if rule.keeps_state else []
    learner.weights(mean(asked))
    assert all(state.tensors is not None for state in states)
    return watch.rates()


def by_loop(network: nn.Module, dataset: Dataset, optimizer: Optimizer, correction: float) -> Rates:
    """Of the same round by a loop."""
    x, y = torch.tensor(dataset.train_x), torch.tensor(dataset.train_y)
    start = {name: p.detach().clone() for name, p in network.named_parameters()}
    total = {name: torch.zeros(p.shape, dtype=torch.float64) for name, p in start.items()}
    watch = Watch()
    for update in updates(PendingModel(), Sgd()):
        network.load_state_dict(start)
        own = optimizer(network.parameters())
        for batch in torch.from_numpy(mini_batches(update.samples, NUM_STEPS, BATCH, update.key)):
            own.zero_grad()
            nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            if correction:
                for name, p in network.named_parameters():
                    assert p.grad is not None
                    p.grad.add_(p.detach() - start[name], alpha=correction)
            own.step()
        for name, p in network.named_parameters():
            total[name].add_(p.detach(), alpha=1.0 / NUM_CLIENTS)
    return watch.rates()


def by_threads(network: nn.Module, dataset: Dataset, num_threads: int) -> Rates:
    """Of a round of the function by hand, on threads."""
    x, y = torch.tensor(dataset.train_x), torch.tensor(dataset.train_y)
    total = {name: torch.zeros(p.shape, dtype=torch.float64) for name, p in network.named_parameters()}

    def trained(update: PendingUpdate) -> dict[str, Tensor]:
        own = copy.deepcopy(network)
        batches = torch.from_numpy(mini_batches(update.samples, NUM_STEPS, BATCH, update.key))
        function(own, ((x[batch], y[batch]) for batch in batches), {}, None)
        return {name: p.detach() for name, p in own.named_parameters()}

    watch = Watch()
    with ThreadPoolExecutor(num_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for end in pool.map(trained, updates(PendingModel(), Sgd())):
            for name, values in end.items():
                total[name].add_(values, alpha=1.0 / NUM_CLIENTS)
    return watch.rates()


Measured = dict[str, list[Rates]]


def measured(ways: dict[str, Callable[[], Rates]], repetitions: int) -> Measured:
    """Measure every way `repetitions` times, in turn."""
    for way in ways.values():
        way()  # the first call of a program is slower
    found: Measured = {name: [] for name in ways}
    for _ in range(repetitions):
        for name, way in ways.items():
            found[name].append(way())
    return found


def shown(found: Measured, name: str, digits: int = 0, *, over: str | None = None) -> str:
    """Medians of a way, or of its ratios over another, by processor time and, in brackets, by wall time."""
    others = [Rates(1.0, 1.0)] * len(found[name]) if over is None else found[over]
    medians = [
        statistics.median(own[of] / other[of] for own, other in zip(found[name], others, strict=True))
        for of in range(2)
    ]
    width = 7 if over is None else 5
    return f"{medians[0]:{width}.{digits}f} ({medians[1]:{width}.{digits}f})"


def compare(sizes: str, repetitions: int, num_threads: int) -> None:
    """Measure one network and print its table."""
    dataset = drawn(int(sizes.partition("-")[0]))
    network = models.build(f"mlp-{sizes}")
    learner = Learner(network, dataset, num_workers=1)
    ways: dict[str, Callable[[], Rates]] = {}
    for name, (rule, optimizer, correction) in RULES.items():
        ways[name] = partial(by_learner, learner, rule)
        ways[f"{name} loop"] = partial(by_loop, network, dataset, optimizer, correction)
    found = measured(ways, repetitions)
    print(f"\n{sizes:14}{'loop':>17}{'learner':>18}{'learner/loop':>15}{'of sgd':>14}")
    for name in RULES:
        rates = f"{shown(found, f'{name} loop')} {shown(found, name)}"
        ratio = shown(found, name, 1, over=f"{name} loop")
        print(f"{name:14}{rates}  {ratio} {shown(found, name, 2, over='sgd')}", flush=True)
    several = Learner(network, dataset, num_workers=num_threads)
    called = TorchFunction(function=f"{__name__}:function", batch_size=BATCH)
    both = {
        "loop": partial(by_threads, network, dataset, num_threads),
        "learner": partial(by_learner, several, called),
    }
    found = measured(both, repetitions)
    rates = f"{shown(found, 'loop')} {shown(found, 'learner')}"
    print(f"{f'function on {num_threads}':14}{rates}  {shown(found, 'learner', 2, over='loop')}", flush=True)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repetitions", type=int, default=3, help="timings of each way (default: 3)")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {NUM_CLIENTS} clients, medians of {options.repetitions}")
    for sizes in ("784-300-10", "64-32-10"):
        compare(sizes, options.repetitions, num_cores())


if __name__ == "__main__":
    main()
