"""How fast does the learner train convolutional networks and adapters, beside a plain loop over the clients?

Client-steps per second (one SGD step of one client), in turn in one process:

    loop      one client after the other: nn.Module, autograd, torch.optim.SGD; the faster of one and of all
              torch threads
    learner   the learner as it is: on a CPU such networks go client by client, on as many threads as cores
    cohorts   the learner with cohorts of 8 clients in one batched program (torch.func)

Medians over the repetitions. With --device cuda the loop runs there too, and the learner's cohorts are as
large as its working set allows.

    python benchmarks/submodels.py
    python benchmarks/submodels.py --networks lenet5-10 resnet18-64-10 --device cuda
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from gpu_cases import gpt2_lora
from torch import Tensor, nn

import models
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

NUM_CLIENTS, NUM_STEPS, BATCH_SIZE, LEARNING_RATE, COHORT = 16, 3, 50, 0.01, 8
LORA, NUM_LAYERS, WIDTH, NUM_HEADS, NUM_TOKENS = "gpt2 lora", 2, 128, 4, 1000
"""A small GPT-2 with random weights and adapters of rank 4; 16 tokens in a sample."""
NETWORKS = {"lenet5-10": 784, "resnet18grey-8-28-10": 784, "resnet18-64-10": 3072, LORA: 16}
"""Name -> features of a sample, or its tokens."""
DEFAULT = ("lenet5-10", "resnet18grey-8-28-10", LORA)


class Bench(NamedTuple):
    """One network's round of all clients."""

    network: nn.Module
    dataset: Dataset
    device: str

    def updates(self, learner: Learner) -> list[PendingUpdate]:
        """One round of all clients."""
        start = learner.initial_model(key=1)
        return [
            PendingUpdate(
                client=f"client-{number:02d}",
                model=start,
                samples=np.arange(100 * number, 100 * number + 100),
                num_steps=NUM_STEPS,
                training=Sgd(batch_size=BATCH_SIZE, learning_rate=LEARNING_RATE),
                key=number,
            )
            for number in range(NUM_CLIENTS)
        ]

    def learner(self, num_clients: int | None = None) -> Learner:
        """A learner, with cohorts of another size."""
        learner = Learner(self.network, self.dataset, device=self.device)
        if num_clients is not None:
            resolver = learner._resolver
            resolver.working_set = resolver.working_set._replace(num_clients=num_clients, num_bytes=2**40)
        return learner

    def loop(self, start: dict[str, Tensor], x: Tensor, y: Tensor, num_threads: int) -> None:
        """The plain way: one client after the other, then the mean."""
        usual = torch.get_num_threads()
        torch.set_num_threads(num_threads)
        total = {name: torch.zeros_like(values) for name, values in start.items()}
        for number in range(NUM_CLIENTS):
            self.network.load_state_dict(start, strict=False)
            self.network.train()
            optimizer = torch.optim.SGD(self.network.parameters(), lr=LEARNING_RATE)
            samples = np.arange(100 * number, 100 * number + 100)
            for batch in torch.from_numpy(mini_batches(samples, NUM_STEPS, BATCH_SIZE, key=number)):
                optimizer.zero_grad()
                nn.functional.cross_entropy(self.network(x[batch]), y[batch]).backward()
                optimizer.step()
            for name, values in self.network.state_dict().items():
                total[name] += values / NUM_CLIENTS
        torch.set_num_threads(usual)


def duration_s(work: Callable[[], object], device: str) -> float:
    """Seconds of one round."""
    begin_s = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin_s


def measure(name: str, repetitions: int, device: str) -> dict[str, float]:
    """Client-steps per second of each way, medians over the repetitions."""
    rng = np.random.default_rng(1)
    num_samples = 100 * NUM_CLIENTS
    size, num_classes = (num_samples, NETWORKS[name]), 5 if name == LORA else 10
    y = rng.integers(0, num_classes, num_samples)
    if name == LORA:
        x = rng.integers(0, NUM_TOKENS, size)
        network = gpt2_lora(NUM_LAYERS, WIDTH, NUM_HEADS, NUM_TOKENS)
    else:
        x, network = rng.standard_normal(size, np.float32), models.build(name)
    tests = {"test_x": x[:100], "test_y": y[:100]}
    dataset = Dataset(name="benchmark", train_x=x, train_y=y, **tests, num_classes=num_classes)
    bench = Bench(network.to(device), dataset, device)
    start = {k: v.clone() for k, v in bench.network.state_dict().items() if v.is_floating_point()}
    on_device = (start, torch.from_numpy(x).to(device), torch.from_numpy(y).to(device))
    own, together = bench.learner(), bench.learner(COHORT)
    ways: dict[str, Callable[[], object]] = {
        "loop": partial(bench.loop, *on_device, torch.get_num_threads()),
        "loop on one thread": partial(bench.loop, *on_device, 1),
        "learner": lambda: own.weights(mean(bench.updates(own))),
        "cohorts": lambda: together.weights(mean(bench.updates(together))),
    }
    durations_s: dict[str, list[float]] = {way: [] for way in ways}
    for repetition in range(repetitions + 1):
        for way, work in ways.items():
            found_s = duration_s(work, device)
            if repetition:  # the first one warms up
                durations_s[way].append(found_s)
    return {way: NUM_CLIENTS * NUM_STEPS / statistics.median(found) for way, found in durations_s.items()}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--networks", nargs="+", default=DEFAULT, choices=list(NETWORKS), help="by name")
    parser.add_argument("--repetitions", type=int, default=5, help="timings of each way (default: 5)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="default: cpu")
    asked = parser.parse_args()
    print(f"torch {torch.__version__} on {asked.device}, client-steps per second, medians of", end=" ")
    print(asked.repetitions)
    print(f"{'network':22}{'loop':>10}{'learner':>10}{'cohorts':>10}{'learner/loop':>14}")
    for name in asked.networks:
        rates = measure(name, asked.repetitions, asked.device)
        loop = max(rates["loop"], rates["loop on one thread"])
        cells = f"{loop:10.1f}{rates['learner']:10.1f}{rates['cohorts']:10.1f}{rates['learner'] / loop:14.2f}"
        print(f"{name:22}{cells}", flush=True)


if __name__ == "__main__":
    main()
