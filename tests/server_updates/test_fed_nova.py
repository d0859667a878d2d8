"""FedNova: two rounds by hand with two clients of different steps; equal steps are the mean."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded

import models
from cosim import HFedAvg, Sgd, System, evolve
from cosim.codecs import Signs
from cosim.configuration import ConfigurationError, asks_in, part
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.data.synthetic import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.server_updates import FedAdam, FedNova, Mean, MeanBySamples, ServerUpdate
from cosim.server_updates.adaptive_updates import FedAvgM
from cosim.testing import small_system
from cosim.training import Adam, LocalTraining, Momentum, Proximal, Scaffold, TorchFunction
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate

DATA = loaded(Synthetic())


SGD = Sgd(batch_size=5, learning_rate=0.1)
KNOBS = {"batch_size": 5, "learning_rate": 0.1}
TORCH: list[tuple[LocalTraining, Callable[[torch.Tensor], torch.optim.SGD]]] = [
    (Momentum(**KNOBS, momentum=0.8), lambda w: torch.optim.SGD([w], lr=0.1, momentum=0.8)),
    (
        Momentum(**KNOBS, momentum=0.8, nesterov=True),
        lambda w: torch.optim.SGD([w], lr=0.1, momentum=0.8, nesterov=True),
    ),
    (Momentum(**KNOBS, momentum=0.0, keeps_state=True), lambda w: torch.optim.SGD([w], lr=0.1)),
    (Proximal(**KNOBS, mu=2.0), lambda w: torch.optim.SGD([w], lr=0.1, weight_decay=2.0)),
    (SGD, lambda w: torch.optim.SGD([w], lr=0.1)),
]
"""Rules, and what torch has for a weight that starts at 0, where the pull to the start is a decay."""


def gradients_of(optimizer_of: Callable[[torch.Tensor], torch.optim.SGD], num_steps: int) -> float:
    """Gradients that steps add up to: each of them alone is 1 once, and its share of the way counted."""
    total = 0.0
    for counted in range(num_steps):
        weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        optimizer = optimizer_of(weight)
        for step in range(num_steps):
            weight.grad = torch.full_like(weight, float(step == counted))
            optimizer.step()
        total -= weight.item() / 0.1
    return total


def updates(
    start: PendingModel, key: int, num_steps: tuple[int, ...], training: LocalTraining = SGD
) -> list[PendingUpdate]:
    """Clients with 10 and 30 samples."""
    return [
        PendingUpdate(
            client=f"client-{client}",
            model=start,
            samples=np.arange(40 * client, 40 * client + size),
            num_steps=steps,
            training=training,
            key=10 * key + client,
        )
        for client, (steps, size) in enumerate(zip(num_steps, (10, 30), strict=True))
    ]


@pytest.mark.parametrize(
    ("rule", "shares"), [(FedNova(), (0.25, 0.75)), (FedNova(weighted=Mean()), (0.5, 0.5))]
)
def test_two_rounds_by_hand(rule, shares):
    """`x - tau_eff sum p_i (x - y_i) / tau_i`, of what each client makes of x alone."""
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


@pytest.mark.parametrize(("training", "optimizer_of"), TORCH)
def test_each_way_is_divided_by_the_gradients_in_it(training, optimizer_of):
    """`x - tau_eff sum p_i (x - y_i) / |a_i|`, with |a_i| from the steps of torch.optim."""
    learner, steps, shares = Learner(models.build("relu-12-6-4"), DATA, num_workers=1), (2, 7), (0.25, 0.75)
    norms = [gradients_of(optimizer_of, number) for number in steps]
    assert [training.num_gradients(number) for number in steps] == pytest.approx(norms, rel=1e-12)
    effective = sum(p * norm for p, norm in zip(shares, norms, strict=True))
    start = learner.initial_model(key=3)
    x = {name: values.astype(float) for name, values in learner.weights(start).items()}
    alone = [learner.weights(mean([update])) for update in updates(start, 0, steps, training)]
    found = learner.weights(FedNova().mean_of(start, updates(start, 0, steps, training)))
    for name, values in found.items():
        ways = [(x[name] - sent[name]) / norm for sent, norm in zip(alone, norms, strict=True)]
        expected = x[name] - effective * sum(p * way for p, way in zip(shares, ways, strict=True))
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


class Halved(Sgd):
    """Steps of its own, of which plain SGD's number of gradients says nothing."""

    def program(self):
        """The usual one, which is not known from outside."""
        return super().program()


@part
class Counted(Halved):
    """It knows."""

    per_step: float = 0.5

    def num_gradients(self, num_steps):
        """Gradients: as many in each step."""
        return self.per_step * num_steps


@pytest.mark.parametrize("server", [FedNova(), FedAdam(mean=FedNova())])
@pytest.mark.parametrize(
    "local",
    [
        Adam(),
        Halved(),
        Momentum(keeps_state=True),
        Proximal(learning_rate=0.6, mu=2.0),
        Scaffold(),
        TorchFunction(function="mine:train"),
    ],
)
def test_steps_of_which_nothing_is_known_are_refused(local, server):
    with pytest.raises(ConfigurationError, match=rf"local = {type(local).__name__}: .*how many gradients"):
        system(local, server)


def test_a_rule_of_ones_own_says_how_many_gradients_it_takes():
    assert system(Counted(), FedNova()).protocol.jobs_per_round((3,)) is not None
    with pytest.raises(ConfigurationError, match=r"Counted\.num_gradients\(1\) = 0\.0: must be a finite"):
        system(Counted(per_step=0.0), FedNova())


def system(local: LocalTraining, server: ServerUpdate) -> System:
    return evolve(small_system(), protocol=HFedAvg(training=worlds.training(local=local, server=server)))


def test_equal_steps_are_the_mean():
    learner = Learner(models.build("relu-12-6-4"), DATA, num_workers=1)
    start = learner.initial_model(key=3)
    asked = updates(start, 0, (3, 3))
    found = learner.weights(FedNova().mean_of(start, asked))
    for name, values in learner.weights(mean(asked, (10, 30))).items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, atol=1e-7)


def test_running_statistics_are_those_of_a_mean():
    """Mean that lies between the clients', however far the weights go."""
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
        with pytest.raises(ConfigurationError, match=r"FedNova\.weighted = .*is more than a rule of weights"):
            FedNova(weighted=rule).fit(None)
    assert asks_in(FedNova(), ONE_BY_ONE)
    assert MeanBySamples() == FedNova().weighted


def test_signs_which_are_as_long_after_any_number_of_steps_are_refused():
    with pytest.raises(ConfigurationError, match=r"System\.codec = 'Signs': Signs moves weights by a common"):
        evolve(system(Sgd(), FedNova()), codec=Signs())
