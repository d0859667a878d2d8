"""Server updates: a step of one's own is that of a plain loop, and what a server keeps survives a resume."""

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from equal import assert_same_bits
from here import Stopped, run_here

import cosim
import models
from cosim.configuration import ConfigurationError, asks_in, knob, not_negative, part
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.data.synthetic import Synthetic
from cosim.ends import EveryVersions
from cosim.engine.learning.learner import Learner
from cosim.engine.store.checkpoint import Checkpoint
from cosim.server_updates.means import Mean, MeanBySamples
from cosim.server_updates.port import ServerUpdate
from cosim.server_updates.step_from_mean import StepFromMean
from cosim.testing import small_system
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate

DATA = loaded(Synthetic())
SIZES = (10, 30, 25)


@part
class ServerMomentum(ServerUpdate):
    """FedAvgM. [Hsu et al., "Measuring the effects of non-identical data distribution"]"""

    keeps_state = True
    momentum: float = knob(not_negative, default=0.9)

    def step(self, server):
        """A velocity that goes on."""
        velocity = {}
        for name, received in server.mean.items():
            kept = server.state.get(name, 0.0)
            velocity[name] = self.momentum * kept + (received - server.model[name])
            server.model[name] += velocity[name]
        return velocity


@part
class Noisy(StepFromMean):
    """Weights and a step, without state."""

    keeps_state = False
    mean: ServerUpdate = MeanBySamples()
    deviation: float = knob(not_negative, default=0.01)

    def step(self, server):
        """Noise on the mean."""
        for name, received in server.mean.items():
            noise = torch.randn(received.shape, generator=server.generator)
            server.model[name] = received + self.deviation * noise


class Forgetful(ServerMomentum):
    """Returns what it does not announce."""

    keeps_state = False


class Drawing(ServerUpdate):
    """Draws where all threads do."""

    def step(self, server):
        """One number."""
        torch.rand(1)


def updates(start: PendingModel, round_: int) -> list[PendingUpdate]:
    return [
        PendingUpdate(
            client=f"client-{number}",
            model=start,
            samples=np.arange(50 * number, 50 * number + size),
            num_steps=3,
            training=Sgd(batch_size=8, learning_rate=0.2),
            key=10 * round_ + number,
        )
        for number, size in enumerate(SIZES)
    ]


@pytest.mark.parametrize("reads", ["at the end", "every round"])
def test_momentum_of_a_server_is_that_of_a_loop(reads):
    learner, rule = Learner(models.build("mlp-12-9-4"), DATA), ServerMomentum(momentum=0.5)
    model, state = learner.initial_model(key=3), None
    weights = {name: torch.tensor(values) for name, values in learner.weights(model).items()}
    velocity = {name: torch.zeros_like(values) for name, values in weights.items()}
    for round_ in range(4):
        start = learner.stored_model({name: values.numpy() for name, values in weights.items()})
        received = learner.weights(mean(updates(start, round_)))
        for name, values in weights.items():
            velocity[name] = 0.5 * velocity[name] + (torch.tensor(received[name]) - values)
            weights[name] = values + velocity[name]
        model, state = rule.moved(model, mean(updates(model, round_)), state, key=round_)
        if reads == "every round":
            learner.weights(model)
    assert state is not None
    assert_same_bits(learner.state(state), {name: values.numpy() for name, values in velocity.items()})
    assert_same_bits(learner.weights(model), {name: values.numpy() for name, values in weights.items()})


def test_means_weigh_equally_or_by_samples():
    learner = Learner(models.build("mlp-12-9-4"), DATA)
    start = learner.initial_model(key=3)
    for rule, weights in ((Mean(), None), (MeanBySamples(), SIZES)):
        asked = updates(start, 0)
        received = mean(asked, rule.weights(asked))
        assert rule.moved(start, received, None, key=1) == (received, None)
        assert_same_bits(learner.weights(received), learner.weights(mean(updates(start, 0), weights)))
    assert not asks_in(Mean(), ONE_BY_ONE)
    assert asks_in(MeanBySamples(), ONE_BY_ONE)
    assert asks_in(Noisy(), ONE_BY_ONE)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Forgetful(), r"Forgetful\.step returned a state"),
        (Drawing(), r"Drawing\.step draws from torch's global generator.*server\.generator"),
    ],
)
def test_steps_that_cannot_be_repeated_are_refused(rule, message):
    learner = Learner(models.build("mlp-12-9-4"), DATA)
    start = learner.initial_model(key=3)
    with pytest.raises(ConfigurationError, match=message):
        learner.weights(rule.moved(start, mean(updates(start, 0)), None, key=1)[0])


def system(server: ServerUpdate, **changes) -> cosim.System:
    edge = worlds.training(local=Sgd(batch_size=8), server=server)
    usual = cosim.evolve(
        small_system(),
        model="mlp-12-8-4",
        protocol=cosim.HFedAvg(training=edge),
        end=cosim.AfterRounds(num_global_rounds=5),
    )
    return cosim.evolve(usual, **changes)


@pytest.mark.parametrize("evaluate_every", [1, 2])
def test_a_resumed_run_ends_bit_for_bit_as_an_uninterrupted_one(tmp_path, evaluate_every):
    case = system(ServerMomentum(), evaluation=EveryVersions(num_versions=evaluate_every))
    run_here(case, out=tmp_path / "whole", num_workers=2)

    def listener(report):
        if report.version == 3:
            raise Stopped

    with pytest.raises(Stopped):
        run_here(case, out=tmp_path / "stopped", listener=listener)
    run_here(case, out=tmp_path / "stopped", resume=True)
    found, wanted = (Checkpoint.load(tmp_path / name) for name in ("stopped", "whole"))
    assert found is not None
    assert wanted is not None
    assert found.evaluations == wanted.evaluations
    assert_same_bits(found.weights, wanted.weights)
    assert found.states.keys() == wanted.states.keys() == {"edge-00", "edge-01"}
    for name in wanted.states:
        assert_same_bits(found.states[name], wanted.states[name])


def test_runs_with_other_rules_are_other_runs():
    rules = (Mean(), MeanBySamples(), ServerMomentum(), ServerMomentum(momentum=0.0), Noisy())
    ends = {tuple(run_here(system(rule)).evaluations["loss_nats"]) for rule in rules}
    assert len(ends) == 4, "five clients with as many samples each: by samples is equal"
    assert run_here(system(Noisy())).evaluations.equals(run_here(system(Noisy()), num_workers=3).evaluations)


def test_the_rule_of_the_cloud_is_that_of_an_edge_server_that_stands_alone(tmp_path):
    """One cell with one edge round: it does not matter which of the two has the momentum."""
    usual = system(Mean())
    training = cosim.evolve(usual.protocol.training, num_edge_rounds=1)
    protocols = {
        "edge": cosim.HFedAvg(training=cosim.evolve(training, server=ServerMomentum())),
        "cloud": cosim.HFedAvg(training=training, server=ServerMomentum()),
        "none": cosim.HFedAvg(training=training),
    }
    weights = {
        name: run_here(cosim.evolve(usual, num_cells=1, protocol=protocol), out=tmp_path / name).weights
        for name, protocol in protocols.items()
    }
    assert_same_bits(weights["edge"], weights["cloud"])
    assert any((weights["none"][name] != weights["cloud"][name]).any() for name in weights["none"])
    kept = Checkpoint.load(tmp_path / "cloud")
    assert kept is not None
    assert kept.states.keys() == {"cloud"}


def test_a_rule_of_the_cloud_that_weighs_updates_is_refused():
    with pytest.raises(ConfigurationError, match=r"HFedAvg\.server = 'MeanBySamples': .* from each cell"):
        cosim.evolve(system(Mean()), protocol=cosim.HFedAvg(server=MeanBySamples()))


def test_over_the_air_all_weigh_the_same():
    air = cosim.Radio(sharing=cosim.radio.OverTheAir())
    with pytest.raises(ConfigurationError, match=r"OverTheAir: .*\.server = MeanBySamples needs them"):
        run_here(system(MeanBySamples(), uplink=air))
    assert len(run_here(system(ServerMomentum(), uplink=air)).evaluations) == 6


def test_submodels_of_other_units_in_every_round_keep_no_state():
    case = system(ServerMomentum())
    hist = cosim.Hist(training=case.protocol.training)
    with pytest.raises(ConfigurationError, match=r"EdgeTraining\.server = .* keeps a state"):
        run_here(cosim.evolve(case, protocol=hist))
