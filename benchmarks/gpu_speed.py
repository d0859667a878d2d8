"""Speed: client-steps per second, and memory, over the number of clients that are trained together."""

import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from gpu_cases import gpt2_lora
from gpu_rounds import features, updates
from torch import nn

import models
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.arithmetic import exact
from cosim.engine.learning.cohorts import FLOAT32_BYTES, WorkingSet
from cosim.engine.learning.learner import Learner
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

COHORTS, NUM_OWN = (1, 4, 16, 64, 256, 1024), 256
"""Clients that are trained together; clients of a round in cohorts of the learner's own size."""
ROUND_STEPS, LEAST_ROUNDS, LONG_S = 10, 3, 2.0
"""Local steps of a round; its timings, of which one is enough where a round takes so long."""


class Speed(NamedTuple):
    """A network whose speed is measured.

    Attributes:
        network: Makes it.
        dataset: Makes its data set.
        batch_size: Samples of a mini-batch.
    """

    network: Callable[[], nn.Module]
    dataset: Callable[[], Dataset]
    batch_size: int


def wide_tokens(size: int) -> Dataset:
    """Token numbers of GPT-2's own vocabulary."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 50257, (400, size)), rng.integers(0, 5, 400)
    return Dataset(name="tokens", train_x=x, train_y=y, test_x=x[:8], test_y=y[:8], num_classes=5)


SPEEDS = {
    "relu-784-300-10": Speed(partial(models.build, "relu-784-300-10"), partial(features, (784,)), 50),
    "relu-64-32-10": Speed(partial(models.build, "relu-64-32-10"), partial(features, (64,)), 50),
    "lenet5-10": Speed(partial(models.build, "lenet5-10"), partial(features, (784,)), 10),
    "resnet18-16-10": Speed(partial(models.build, "resnet18-16-10"), partial(features, (3072,)), 10),
    "gpt2 small, lora": Speed(partial(gpt2_lora, 12, 768, 12, 50257), partial(wide_tokens, 64), 4),
}


def synchronised(device: str) -> float:
    """The time in s, when all work of the device is done."""
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def rate_of(work: Callable[[], object], num_client_steps: int, device: str) -> float:
    """Client-steps per second, median of a few rounds after one that warms up."""
    work()
    durations_s: list[float] = []
    while len(durations_s) < LEAST_ROUNDS and max(durations_s, default=0.0) < LONG_S:
        begin_s = synchronised(device)
        work()
        durations_s.append(synchronised(device) - begin_s)
    return num_client_steps / statistics.median(durations_s)


def loop(network: nn.Module, dataset: Dataset, batch_size: int, device: str, num_clients: int) -> None:
    """The plain way: one client after the other by torch.optim.SGD."""
    trained = [values for values in network.parameters() if values.requires_grad]
    start = [values.detach().clone() for values in trained]
    x, y = (torch.from_numpy(array).to(device) for array in (dataset.train_x, dataset.train_y))
    rng = np.random.default_rng(1)
    for _ in range(num_clients):
        optimizer = torch.optim.SGD(trained, lr=0.01)
        with torch.no_grad():
            for values, first in zip(trained, start, strict=True):
                values.copy_(first)
        batches = torch.from_numpy(rng.integers(0, len(x), (ROUND_STEPS, batch_size))).to(device)
        for batch in batches:
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()


def of_round(learner: Learner, few: Callable[[], list[PendingUpdate]]) -> None:
    """A round of the learner's."""
    learner.compute(mean(few()))


def measured(device: str, until_s: float) -> Iterator[dict[str, Any]]:
    """Speeds of all networks that can be made here."""
    for place, (name, speed) in enumerate(SPEEDS.items()):
        if "gpt2" in name and importlib.util.find_spec("transformers") is None:
            continue
        begin_s = time.perf_counter()
        own_until_s = begin_s + (until_s - begin_s) / (len(SPEEDS) - place)
        yield _of_network(name, speed, device, own_until_s) | {"seconds": time.perf_counter() - begin_s}


def _of_network(name: str, speed: Speed, device: str, until_s: float) -> dict[str, Any]:
    dataset, network = speed.dataset(), speed.network().to(device)
    beside = partial(loop, network, dataset, speed.batch_size, device, 2)
    with exact(device):
        in_turn = rate_of(beside, 2 * ROUND_STEPS, device)
    learner = Learner(speed.network(), dataset, device)
    start, rule = learner.initial_model(key=1), Sgd(batch_size=speed.batch_size, learning_rate=0.01)
    usual = learner._resolver.working_set
    together: dict[int | str, dict[str, Any]] = {}
    for most in (None, *COHORTS):
        if time.perf_counter() > until_s:
            break
        one = WorkingSet(num_bytes=2**50, num_clients=most or 0, num_cohorts=1)
        learner._resolver.working_set = usual if most is None else one
        num_clients = most or NUM_OWN
        few = partial(updates, start, rule, num_steps=ROUND_STEPS, num_clients=num_clients)
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        try:
            rate = rate_of(partial(of_round, learner, few), num_clients * ROUND_STEPS, device)
        except ConfigurationError as error:
            together[most or "learner"] = {"client_steps_per_s": None, "why": str(error)}
            break
        most_bytes = torch.cuda.max_memory_allocated() if device == "cuda" else 0
        together[most or "learner"] = {"client_steps_per_s": rate, "most_GB": most_bytes / 1e9}
    return {
        "network": name,
        "loop": in_turn,
        "together": together,
        "manner": learner.manner.words if learner.manner is not None else "",
        "counted_GB": counted_bytes(learner, speed.batch_size) / 1e9,
    }


def counted_bytes(learner: Learner, batch_size: int) -> float:
    """Bytes of a client in a cohort, as its size is reckoned: weights, and what the backward pass holds."""
    weights = FLOAT32_BYTES * sum(map(math.prod, learner.shape.tensors.values()))
    return weights + batch_size * learner.flops.activation_bits() / 8


def over_counted(row: dict[str, Any]) -> float:
    """Memory that a further client takes, over what is counted of it; nan where none was measured."""
    most_GB = {of: each["most_GB"] for of, each in row["together"].items() if each.get("most_GB")}
    sizes = sorted(of for of in most_GB if of != "learner")
    if len(sizes) < 2:
        return math.nan
    first, last = sizes[0], sizes[-1]
    return (most_GB[last] - most_GB[first]) / (last - first) / row["counted_GB"]


HEADER = (
    f"{'client-steps per second':24}"
    + "".join(f"{of!s:>9}" for of in ("loop", "learner", *COHORTS))
    + f"{'GB':>7}{'counted':>9}"
)


def line_of(row: dict[str, Any]) -> str:
    """One line of what was measured; a dash where there was no memory, or no time."""
    found = {"loop": row["loop"]} | {of: each["client_steps_per_s"] for of, each in row["together"].items()}
    rates = [found.get(of) for of in ("loop", "learner", *COHORTS)]
    cells = "".join(f"{'-' if rate is None else round(rate):>9}" for rate in rates)
    most_GB = row["together"].get("learner", {}).get("most_GB", math.nan)
    return f"{row['network']:24}{cells}{most_GB:>7.2f}{over_counted(row):>9.1f}"
