"""Overridden methods are asked, by mixins too, or the class is refused: no program passes it over."""

from functools import partial

import numpy as np
import pytest
import torch
from data_sets import loaded

import cosim
import models
from cosim.configuration import ConfigurationError, asks_in
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.data.synthetic import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.server_updates.port import ServerUpdate
from cosim.testing import small_system
from cosim.training.port import LocalTraining
from cosim.training.programs.descents import SgdStep
from cosim.training.programs.sgd import SgdProgram
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

DATA = loaded(Synthetic())


class NoLoss:
    def loss(self, outputs, targets):
        return 0.0 * outputs.sum()


class Indifferent(NoLoss, cosim.tasks.Classification):
    """Learns nothing."""


class Unmoved(NoLoss, cosim.tasks.NextToken):
    """Of tokens."""


class TrainsNothing:
    def train(self, client):
        return None


class Idle(TrainsNothing, LocalTraining):
    """Leaves the network alone."""


class NoGradient:
    def by_gradient(self, name, values_C, gradient):
        """Stay."""


class StillStep(NoGradient, SgdStep):
    """Makes nothing of a gradient."""


class Still(Sgd):
    """Steps in place."""

    def program(self):
        return SgdProgram(partial(StillStep, rate=self.learning_rate))


def updates(learner: Learner, training: LocalTraining) -> list[PendingUpdate]:
    start = learner.initial_model(key=1)
    return [
        PendingUpdate(
            client=f"client-{n}",
            model=start,
            samples=np.arange(9 * n, 9 * n + 9),
            num_steps=2,
            key=n,
            training=training,
        )
        for n in range(2)
    ]


@pytest.mark.parametrize(
    ("task", "training"),
    [
        (Indifferent(), Sgd(batch_size=3)),
        (None, Idle(batch_size=3)),
        (None, Still(batch_size=3)),
    ],
)
def test_what_a_mixin_overrides_is_what_trains(task, training):
    learner = Learner(models.build("relu-12-8-4"), DATA, num_workers=1, task=task)
    asked = updates(learner, training)
    before, after = learner.weights(asked[0].model), learner.weights(mean(asked))
    assert all((before[name] == after[name]).all() for name in before)
    moved = Learner(models.build("relu-12-8-4"), DATA, num_workers=1)
    usual = moved.weights(mean(updates(moved, Sgd(batch_size=3))))
    assert any((before[name] != usual[name]).any() for name in before)


@pytest.mark.parametrize(
    "kind",
    [Sgd, cosim.training.Proximal, cosim.training.Momentum, cosim.training.Adam, cosim.training.Scaffold],
)
def test_a_rule_that_trains_one_by_one_and_together_cannot_be_made(kind):
    with pytest.raises(
        ConfigurationError, match=r"two forms, one_by_one \(TrainsNothing\.train\) and together"
    ):
        type("Both", (TrainsNothing, kind), {})


def test_a_loss_of_a_mixin_is_no_cross_entropy():
    kinds = cosim.tasks.Classification, cosim.tasks.NextToken, Indifferent, Unmoved
    assert [kind.form for kind in kinds] == ["cross_entropy", "cross_entropy", "loss", "loss"]


class OnlyTheFirst:
    def weights(self, updates):
        return [1.0] + [0.0] * (len(updates) - 1)


class First(OnlyTheFirst, ServerUpdate):
    """Weighs the first."""


@pytest.mark.parametrize(
    "rule",
    [
        First(),
        *(
            cosim.server_updates.FedNova(weighted=First()),
            cosim.server_updates.FedAdam(mean=First()),
            cosim.server_updates.FedAvgM(mean=First()),
        ),
        cosim.server_updates.FedAdam(mean=cosim.server_updates.FedNova(weighted=First())),
    ],
    ids=str,
)
def test_weights_are_asked_in_every_rule_that_has_them(rule):
    learner = Learner(models.build("relu-12-8-4"), DATA, num_workers=1)
    asked = updates(learner, Sgd(batch_size=3))
    found = learner.weights(rule.averaging.mean_of(asked[0].model, asked))
    first = learner.weights(mean(asked[:1]))
    for name in first:
        np.testing.assert_allclose(found[name], first[name], rtol=0.0, atol=1e-7)
    assert asks_in(rule, ONE_BY_ONE)


class Halves(cosim.codecs.RandomK):
    """Sends other values than its base, whose variance is another then."""

    def arrived(self, change_D, generator):
        return 0.5 * change_D


def trained(**parts) -> cosim.HFedAvg:
    return cosim.HFedAvg(training=cosim.EdgeTraining(**parts))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            lambda: cosim.codecs.ErrorFeedback(codec=Halves()),
            r"ErrorFeedback\.codec = .*Halves.*: Halves\.arrived says what arrives",
        ),
        (
            lambda: small(
                protocol=trained(server=cosim.server_updates.FedAdam(mean=cosim.server_updates.FedAvgM()))
            ),
            r"FedAdam\.mean = .*FedAvgM.*: takes a step of its own",
        ),
        (
            lambda: type("Hot", (cosim.devices.Device,), {"idle_w": 100.0}),
            r"Hot: a Device holds numbers only.*cosim\.devices\.Processor",
        ),
    ],
)
def test_what_would_never_be_asked_is_refused(made, said):
    with pytest.raises(ConfigurationError, match=said):
        made()


def small(**parts) -> cosim.System:
    return cosim.evolve(small_system(), **parts)


class Given(ServerUpdate):
    """Moves the model in a way of its own."""

    def moved(self, model, mean, state, key):
        return model, None


class Stepped:
    def step(self, server):
        for name, values in server.mean.items():
            server.model[name] = values + torch.ones(())


@pytest.mark.parametrize(
    ("bases", "said"),
    [
        ((Stepped, Given), r"moved \(Given\.moved\)"),
        ((Stepped, cosim.server_updates.MajorityVote), r"step \(Stepped\.step\)"),
        ((OnlyTheFirst, cosim.server_updates.MajorityVote), r"weights \(OnlyTheFirst\.weights\)"),
        ((OnlyTheFirst, cosim.server_updates.FedNova), r"weights \(OnlyTheFirst\.weights\) and own_mean"),
        ((OnlyTheFirst, cosim.server_updates.FedAdam), r"weights \(OnlyTheFirst\.weights\) and step"),
        (
            (type("Row", (), {"arrived": None}), cosim.codecs.Signs),
            r"signs \(Signs\.step\) and row \(Row\.arrived\)",
        ),
        (
            (type("Own", (), {"transmit": None}), cosim.codecs.RandomK),
            r"row \(RandomK\.arrived\) and tensors",
        ),
    ],
)
def test_a_rule_with_two_ways_cannot_be_made(bases, said):
    with pytest.raises(ConfigurationError, match=f"two forms.*{said}"):
        type("Both", bases, {})


def test_a_mixin_with_a_step_makes_a_rule_that_steps():
    rule = type("Stepping", (Stepped, ServerUpdate), {})()
    learner = Learner(models.build("relu-12-8-4"), DATA, num_workers=1)
    asked = updates(learner, Sgd(batch_size=3))
    moved, _ = rule.moved(asked[0].model, mean(asked), None, 1)
    found, usual = learner.weights(moved), learner.weights(mean(asked))
    assert all(found[name] == pytest.approx(usual[name] + 1.0) for name in usual)
