"""Runs side by side in threads of one process: each gives the tables that it gives alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import torch
import worlds
from attrs import evolve
from equal import assert_same_bits
from ordinary_networks import PICTURES, updates_of
from torch import nn

import cosim
from cosim.engine.learning.learner import Learner
from cosim.values.combinations import mean
from scenarios import quickstart

NUM_RUNS, NUM_THREADS = 48, 4


def train(network, batches, state, rng):
    """Local training of one's own, with noise from the generator that it is given."""
    for x, y in batches:
        network.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        with torch.no_grad():
            for values in network.parameters():
                values -= 0.05 * values.grad + 0.001 * torch.randn(values.shape, generator=rng)


def careless(network, batches, state, rng):
    """State that all threads share."""
    for _ in batches:
        with torch.no_grad():
            next(network.parameters()).add_(np.random.standard_normal())  # noqa: NPY002


def of_a_function() -> nn.Module:
    """A network that drops something."""
    return nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 4))


def small(function: str | None = None, **changes: object) -> cosim.System:
    """Four clients of two cells, which learn what takes no time to load."""
    local = (
        cosim.Sgd() if function is None else cosim.training.TorchFunction(function=f"{__name__}:{function}")
    )
    training = worlds.training(local=evolve(local, batch_size=5), steps=cosim.SameSteps(num_local_steps=2))
    usual = worlds.digits(num_clients=4, model="relu-12-8-4", data=cosim.data.Synthetic())
    return evolve(usual, protocol=cosim.HFedAvg(training=training), **changes)


SYSTEMS = (
    evolve(quickstart.system(), end=cosim.AfterRounds(num_global_rounds=2)),
    small(),
    small("train"),
    small(model="mlpdropout-12-8-4"),
    small("train", model=f"{__name__}:of_a_function"),
    small(model=f"{__name__}:of_a_function"),
    small(model="mlp-12-8-4", seed=2),
    small("train", model="an object"),
)
OBJECT = nn.Sequential(nn.Linear(12, 8), nn.Dropout(0.2), nn.Linear(8, 4))


def tables_of(number: int, num_workers: int = 2) -> list[pd.DataFrame]:
    """The tables of a run, every eighth of a network that others train meanwhile, too."""
    system = SYSTEMS[number % len(SYSTEMS)]
    result = cosim.run(system, OBJECT if system.model == "an object" else None, num_workers=num_workers)
    return [result.evaluations, result.rounds, result.spans]


def test_runs_in_threads_give_the_tables_of_one_thread():
    alone = [tables_of(number, num_workers=1) for number in range(len(SYSTEMS))]
    numbers, num_torch_threads = range(NUM_RUNS), torch.get_num_threads()
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for number, tables in zip(numbers, pool.map(tables_of, numbers), strict=True):
            for found, wanted in zip(tables, alone[number % len(SYSTEMS)], strict=True):
                pd.testing.assert_frame_equal(found, wanted, check_exact=True)
        assert set(pool.map(lambda _: torch.get_num_threads(), range(8))) == {num_torch_threads}
    assert torch.get_num_threads() == num_torch_threads


def test_a_function_that_draws_is_refused_and_those_beside_it_are_not():
    def ended(number: int) -> str:
        system = small("careless" if number % 2 else "train")
        try:
            cosim.run(system, num_workers=2)
        except cosim.ConfigurationError as error:
            return str(error)
        return "complete"

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        found = list(pool.map(ended, range(8)))
    assert found[0::2] == ["complete"] * 4
    assert all("careless draws from numpy's global generator" in words for words in found[1::2])


class Rounded(nn.Module):
    """A layer that is used twice in bfloat16: torch may keep its rounded weights from the first use."""

    def __init__(self) -> None:
        super().__init__()
        self.maps, self.head = nn.Conv2d(3, 3, 3, padding=1), nn.Linear(192, 3)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            maps = self.maps(torch.relu(self.maps(x)))
        return self.head(maps.float().flatten(1))


def test_rounded_passes_do_not_depend_on_other_threads():
    def weights(num_workers):
        torch.manual_seed(1)
        learner = Learner(Rounded(), PICTURES, num_workers=num_workers, brings_weights=True)
        model = learner.initial_model(1)
        for number in range(6):
            rule = cosim.Sgd(batch_size=4, learning_rate=0.1)
            model = mean(updates_of(model, number, rule, num_steps=5, num_clients=8))
        return learner.weights(model)

    expected = weights(1)
    for _ in range(4):
        assert_same_bits(weights(2), expected)
