"""FedAdam beside FedAvg where features have one size, and where their sizes range over two magnitudes.

Twelve features weigh the same in a sum that is to be predicted. Where each has a size of its own the largest
sets the step that FedAvg can take, and the smallest are hardly learned; FedAdam divides that out.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy import stats

import models
from cosim import Sgd
from cosim.data import Dataset
from cosim.engine.learning.learner import Learner
from cosim.server_updates import FedAdam, Mean, ServerUpdate
from cosim.values.pending import PendingUpdate

NUM_CLIENTS, NUM_SAMPLES, NUM_ROUNDS = 4, 200, 30
SIZES = np.logspace(0.0, -2.0, 12)
SEEDS, TUNED_ON = range(1, 6), (11, 12)
FED_AVG = [(rate, Mean()) for rate in (0.1, 0.2, 0.4, 0.8)]
FED_ADAM = [(rate, FedAdam(learning_rate=step)) for rate, step in product((0.1, 0.3), (0.3, 1.0))]
"""The grids: rates of the clients, and of the server."""


def learner(sizes: np.ndarray) -> Learner:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2 * NUM_SAMPLES, len(sizes)))
    x, y = np.float32(x * sizes), np.float32(x.sum(axis=1) / len(sizes) ** 0.5)
    train, test = ((part(x), part(y)) for part in (lambda of: of[:NUM_SAMPLES], lambda of: of[NUM_SAMPLES:]))
    return Learner(models.build(f"mlp-{len(sizes)}-1"), Dataset.of("sizes", train, test), num_workers=1)


def errors(of: Learner, seeds, rate: float, server: ServerUpdate) -> np.ndarray:
    """Mean squared error on the test set after the last round, of each seed."""
    local, ends = Sgd(batch_size=10, learning_rate=rate), []
    for seed in seeds:
        held = np.random.default_rng(seed).permutation(NUM_SAMPLES).reshape(NUM_CLIENTS, -1)
        model, state = of.initial_model(seed), None
        for round_ in range(NUM_ROUNDS):
            updates = [
                PendingUpdate(
                    client=f"client-{client:04d}",
                    model=model,
                    samples=samples,
                    num_steps=5,
                    training=local,
                    key=(seed * NUM_ROUNDS + round_) * NUM_CLIENTS + client,
                )
                for client, samples in enumerate(held)
            ]
            model, state = server.moved(model, server.averaging.mean_of(model, updates), state, round_)
        ends.append(model)
    of.compute(*ends)
    return np.array([of.evaluate(model)["test_mse"] for model in ends])


def tuned(of: Learner, grid: Sequence[tuple[float, ServerUpdate]]) -> np.ndarray:
    """Of all seeds, by the rates that were best on others."""
    found = [errors(of, TUNED_ON, *rates).mean() for rates in grid]
    return errors(of, SEEDS, *grid[int(np.nanargmin(found))])


@pytest.mark.parametrize(
    ("sizes", "lowest", "highest"),
    [(SIZES, 0.2, 1.0), (np.full(12, np.sqrt(np.mean(SIZES**2))), -1.0, 0.0)],
    ids=["badly scaled", "well scaled"],
)
def test_fed_adam_beats_fed_avg_where_features_are_badly_scaled_and_only_there(sizes, lowest, highest):
    """FedAvg's error less FedAdam's, of a target of variance 1: the 99 % interval over paired seeds."""
    of = learner(sizes)
    lead = tuned(of, FED_AVG) - tuned(of, FED_ADAM)
    half_width = stats.sem(lead) * stats.t.ppf(0.995, len(lead) - 1)
    assert lowest < lead.mean() - half_width < lead.mean() + half_width < highest
