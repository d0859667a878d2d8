"""Joined cohorts: one call trains several small cohorts, and every number is as if each had a call."""

from typing import Any

import numpy as np
import pytest
from data_sets import loaded
from equal import assert_same_bits

import models
from cosim.data import Synthetic
from cosim.engine.learning.cohorts import WORKING_SETS
from cosim.engine.learning.learner import Learner
from cosim.protocols.asynchronous.changes import Change, mixed
from cosim.training import Adam, LocalTraining, Momentum, Proximal
from cosim.training.programs import sgd
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate

pytestmark = pytest.mark.quick

DATA = loaded(Synthetic())
EVEN, NUM_BYTES = "relu-12-8-4", 4 * (12 * 8 + 8 * 4 + 8 * 12)
"""A network, and the bytes of a client with batches of 8 that count."""


def updates(
    start: PendingModel, num: int, batch_size: int = 8, rule: type[LocalTraining] = Sgd
) -> list[PendingUpdate]:
    work: dict[str, Any] = {"num_steps": 3, "training": rule(batch_size=batch_size, learning_rate=0.1)}
    return [
        PendingUpdate(client=f"client{i:02}", model=start, samples=np.arange(i, i + 30), key=i, **work)
        for i in range(num)
    ]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch):
    """Weights after a round and updates in flight, and the clients of each call, by bytes of a call."""

    def of(
        least: int,
        most: int,
        network: str = EVEN,
        batch_size: int = 8,
        num_workers: int = 1,
        rule: type[LocalTraining] = Sgd,
    ) -> tuple[dict, list[int]]:
        usual = WORKING_SETS["cpu"]._replace(least_call=least, most_call=most)
        monkeypatch.setitem(WORKING_SETS, "cpu", usual)
        calls, train = [], sgd.train_relu_layers

        def noted(layers: Any, *arguments: Any) -> None:
            calls.append(len(layers[0].weight_COI))
            train(layers, *arguments)

        with monkeypatch.context() as patched:
            patched.setattr(sgd, "train_relu_layers", noted)
            learner = Learner(models.build(network), DATA, num_workers=num_workers)
            start = learner.initial_model(key=1)
            model = mean(updates(start, 40, batch_size, rule), range(1, 41))
            for update in updates(start, 3, batch_size, rule):
                model = mixed(model, Change(start, update), 0.3)
            return learner.weights(model), calls

    return of


@pytest.mark.parametrize("rule", [Sgd, Momentum, Adam, Proximal])
def test_small_cohorts_are_trained_by_one_call_with_the_bits_of_cohorts_apart(trained, rule):
    apart, of_cohorts = trained(0, 0, rule=rule)
    together, of_calls = trained(2**18, 2**18, rule=rule)
    assert (len(of_cohorts), len(of_calls), sum(of_cohorts), sum(of_calls)) == (3, 1, 43, 43)
    assert_same_bits(together, apart)


def test_a_call_keeps_to_its_bytes(trained):
    _, of_calls = trained(0, 30 * NUM_BYTES)
    assert max(of_calls) <= 30 < sum(of_calls)
    assert len(of_calls) == 2


def test_workers_share_what_is_not_too_small_for_a_call_with_the_same_bits(trained):
    found = {workers: trained(10 * NUM_BYTES, 2**18, num_workers=workers) for workers in (1, 2, 8)}
    assert [sorted(calls) for _, calls in found.values()] == [[43], [15, 28], [14, 14, 15]]
    _, of_larger = trained(30 * NUM_BYTES, 2**18, num_workers=8)
    assert sorted(of_larger) == [15, 28]
    assert_same_bits(found[2][0], found[1][0])
    assert_same_bits(found[8][0], found[1][0])


@pytest.mark.parametrize(("network", "batch_size"), [("relu-12-9-4", 7), ("relu-12-9-7-4", 8)])
def test_where_clients_begin_between_16_bytes_cohorts_stay_apart(trained, network, batch_size):
    """There their bits depend on their places."""
    apart, of_cohorts = trained(0, 0, network, batch_size)
    found, of_calls = trained(2**18, 2**18, network, batch_size)
    assert of_calls == of_cohorts
    assert_same_bits(found, apart)


def test_networks_trained_by_torch_func_stay_apart(trained):
    assert_same_bits(trained(2**18, 2**18, "mlp-12-8-4")[0], trained(0, 0, "mlp-12-8-4")[0])
