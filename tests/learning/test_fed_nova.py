"""FedNova: two rounds by hand with two clients of different steps; equal steps are the mean."""

import numpy as np
import pytest
import torch
from data_sets import loaded

import models
from cosim import FedNova, Mean, MeanBySamples, Sgd
from cosim.configuration import ConfigurationError
from cosim.data.synthetic import Synthetic
from cosim.learning.graph.combinations import mean
from cosim.learning.graph.pending import PendingModel, PendingUpdate
from cosim.learning.learner import Learner
from cosim.learning.server_updates.adaptive_updates import FedAvgM

DATA = loaded(Synthetic())


def updates(start: PendingModel, key: int, num_steps: tuple[int, ...]) -> list[PendingUpdate]:
    """Clients with 10 and 30 samples."""
    return [
        PendingUpdate(
            client=f"client-{client}",
            start=start,
            samples=np.arange(40 * client, 40 * client + size),
            num_steps=steps,
            training=Sgd(batch_size=5, learning_rate=0.1),
            key=10 * key + client,
        )
        for client, (steps, size) in enumerate(zip(num_steps, (10, 30), strict=True))
    ]


@pytest.mark.parametrize(
    ("rule", "shares"), [(FedNova(), (0.25, 0.75)), (FedNova(weighted=Mean()), (0.5, 0.5))]
)
def test_two_rounds_by_hand(rule, shares):
    """x - tau_eff sum p_i (x - y_i) / tau_i, of what each client makes of x alone."""
    learner, steps = Learner(models.build("relu-12-6-4"), DATA, num_workers=1), (2, 7)
    model = learner.initial_model(key=3)
    x = {name: values.astype(float) for name, values in learner.weights(model).items()}
    effective = shares[0] * steps[0] + shares[1] * steps[1]
    for round_ in range(2):
        alone = [learner.weights(mean([update])) for update in updates(model, round_, steps)]
        for name in x:
            ways = [(x[name] - sent[name]) / tau for sent, tau in zip(alone, steps, strict=True)]
            x[name] -= effective * sum(p * way for p, way in zip(shares, ways, strict=True))
        model = rule.mean_of(model, updates(model, round_, steps))
        for name, values in learner.weights(model).items():
            np.testing.assert_allclose(values, x[name], rtol=1e-5, atol=1e-6)
        plain = learner.weights(mean(updates(model, round_, steps), shares))
        assert any(not np.allclose(plain[name], x[name], atol=1e-4) for name in x)


def test_equal_steps_are_the_mean():
    learner = Learner(models.build("relu-12-6-4"), DATA, num_workers=1)
    start = learner.initial_model(key=3)
    asked = updates(start, 0, (3, 3))
    found = learner.weights(FedNova().mean_of(start, asked))
    for name, values in learner.weights(mean(asked, (10, 30))).items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, atol=1e-7)


def test_running_statistics_are_those_of_a_mean():
    """One that lies between those of the clients, however far the weights go."""
    network = torch.nn.Sequential(torch.nn.Linear(12, 9), torch.nn.BatchNorm1d(9), torch.nn.Linear(9, 4))
    learner = Learner(network, DATA)
    start, steps = learner.initial_model(key=3), (1, 20)
    alone = [learner.weights(mean([update])) for update in updates(start, 0, steps)]
    found = learner.weights(FedNova().mean_of(start, updates(start, 0, steps)))
    for name in ("1.running_mean", "1.running_var"):
        expected = (0.25 / 1 * alone[0][name] + 0.75 / 20 * alone[1][name]) / (0.25 / 1 + 0.75 / 20)
        np.testing.assert_allclose(found[name], expected, rtol=1e-5)


def test_more_than_weights_are_refused():
    for rule in (FedAvgM(), FedNova()):
        with pytest.raises(ConfigurationError, match=r"FedNova\.weighted = .*is more than weights"):
            FedNova(weighted=rule).fit(None)
    assert not FedNova().weighs_equally
    assert MeanBySamples() == FedNova().weighted
