"""Adaptive server updates: two rounds by hand with one weight, and where they reduce to the mean."""

import math

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded

import cosim
import models
from cosim import Sgd
from cosim.configuration import ConfigurationError
from cosim.data.synthetic import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.engine.store.checkpoint import Checkpoint
from cosim.server_updates import (
    FedAdagrad,
    FedAdam,
    FedAvgM,
    FedNova,
    FedYogi,
    Mean,
    MeanBySamples,
    ServerUpdate,
)
from cosim.testing import check_system, small_system
from cosim.values.pending import PendingModel

pytestmark = pytest.mark.quick

X, UPDATES = 0.5, ((0.7, 0.1), (0.9, 1.3))
"""Place of the weight, and updates of two clients in two rounds."""
ETA, TAU = 0.25, 0.5


def by_hand(rule) -> float:
    """`x <- x + eta m / (sqrt v + tau)`, twice."""
    x, m, v = X, 0.0, TAU**2
    for one, other in UPDATES:
        d = (one + other) / 2 - x
        m = rule.beta1 * m + (1 - rule.beta1) * d
        if isinstance(rule, FedAdagrad):
            v = v + d**2
        elif isinstance(rule, FedAdam):
            v = rule.beta2 * v + (1 - rule.beta2) * d**2
        else:
            v = v - (1 - rule.beta2) * d**2 * math.copysign(1.0, v - d**2)
        x += rule.learning_rate * m / (math.sqrt(v) + TAU)
    return x


@pytest.fixture(scope="module")
def learner() -> Learner:
    return Learner(models.build("mlp-12-9-4"), loaded(Synthetic()))


def one_weight(value: float) -> PendingModel:
    """A model whose every value is the same."""
    shapes = {name: tensor.shape for name, tensor in models.build("mlp-12-9-4").named_parameters()}
    return PendingModel.of({name: torch.full(shape, value) for name, shape in shapes.items()})


def weight_after(learner: Learner, rule: ServerUpdate) -> float:
    model, state = one_weight(X), None
    for round_, sent in enumerate(UPDATES):
        model, state = rule.moved(model, one_weight(sum(sent) / 2), state, round_)
    values = np.concatenate([array.ravel() for array in learner.weights(model).values()])
    assert (values == values[0]).all()
    return float(values[0])


@pytest.mark.parametrize(
    "rule",
    [
        FedAdagrad(learning_rate=ETA, adaptivity=TAU),
        FedAdagrad(learning_rate=ETA, adaptivity=TAU, beta1=0.4),
        FedAdam(learning_rate=ETA, adaptivity=TAU, beta2=0.6),
        FedYogi(learning_rate=ETA, adaptivity=TAU, beta2=0.6),
    ],
)
def test_two_rounds_by_hand(learner, rule):
    assert weight_after(learner, rule) == pytest.approx(by_hand(rule), rel=1e-6)


def test_the_adaptive_rules_are_three():
    """In the second round the square 0.4 exceeds v, in the first it does not; so signs and sums matter."""
    rules = [kind(learning_rate=ETA, adaptivity=TAU, beta1=0.4) for kind in (FedAdagrad, FedAdam, FedYogi)]
    assert len({round(by_hand(rule), 4) for rule in rules}) == 3


def test_momentum_by_hand(learner):
    rule = FedAvgM(momentum=0.5, learning_rate=0.5)
    first = 0.4 - X
    x = X + 0.5 * first
    x += 0.5 * (0.5 * first + (1.1 - x))
    assert weight_after(learner, rule) == pytest.approx(x, rel=1e-6)


def system(server: ServerUpdate, **changes) -> cosim.System:
    training = worlds.training(local=Sgd(batch_size=8), server=server)
    usual = cosim.evolve(small_system(), protocol=cosim.HFedAvg(training=training))
    return cosim.evolve(usual, **changes)


def test_momentum_0_with_rate_1_is_the_mean_bit_for_bit():
    for mean in (Mean(), MeanBySamples()):
        plain, still = (
            cosim.run(system(rule), num_workers=1) for rule in (mean, FedAvgM(mean=mean, momentum=0.0))
        )
        for name, values in plain.weights.items():
            np.testing.assert_array_equal(values, still.weights[name])
        assert plain.evaluations.equals(still.evaluations)


@pytest.mark.parametrize("rule", [FedAdam(mean=MeanBySamples()), FedYogi(mean=FedNova()), FedAvgM()])
def test_rules_keep_the_laws_of_runs(rule):
    check_system(system(rule))


def test_the_state_of_a_cloud_and_of_cells_is_in_the_checkpoint(tmp_path):
    protocol = cosim.HFedAvg(training=worlds.training(server=FedYogi()), server=FedAdam())
    cosim.run(system(Mean(), protocol=protocol), out=tmp_path / "run")
    kept = Checkpoint.load(tmp_path / "run")
    assert kept is not None
    assert kept.states.keys() == {"cloud", "edge-00", "edge-01"}
    assert set(kept.states["cloud"]) == {
        f"{moment} {name}" for moment in ("first", "second") for name in kept.weights
    }


def test_running_statistics_are_the_mean_s(learner):
    """Whatever the step: a second model whose statistics differ comes out with its own."""
    network = torch.nn.Sequential(torch.nn.Linear(12, 9), torch.nn.BatchNorm1d(9), torch.nn.Linear(9, 4))
    with_statistics = Learner(network, loaded(Synthetic()))
    before, after = (with_statistics.weights(with_statistics.initial_model(key)) for key in (1, 2))
    after = {name: values + 1 if "running" in name else values for name, values in after.items()}
    start, mean = with_statistics.stored_model(before), with_statistics.stored_model(after)
    moved = with_statistics.weights(FedAdam().moved(start, mean, None, 0)[0])
    assert list(moved) == list(before)
    for name in ("1.running_mean", "1.running_var"):
        np.testing.assert_array_equal(moved[name], after[name])
    assert any((moved[name] != before[name]).any() for name in moved if "running" not in name)


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ConfigurationError, match=r"FedAdam\.mean = 'FedAvgM': takes a step of its own.*Mean"):
        system(FedAdam(mean=FedAvgM()))
    with pytest.raises(ConfigurationError, match=r"momentum = 1.*below 1"):
        FedAvgM(momentum=1.0)
    with pytest.raises(ConfigurationError, match=r"HFedAvg\.server = 'FedAdam'.* from each cell"):
        system(Mean(), protocol=cosim.HFedAvg(server=FedAdam(mean=MeanBySamples())))
    with pytest.raises(ConfigurationError, match=r"OverTheAir: .*\.training\.server = FedYogi needs"):
        system(FedYogi(mean=FedNova()), uplink=cosim.Radio(sharing=cosim.radio.OverTheAir()))
