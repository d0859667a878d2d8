"""Running statistics and state are coded by nothing, and no step of a server moves them."""

import numpy as np
import pytest
import torch
from data_sets import loaded
from torch import nn

import cosim
from cosim import Never
from cosim.engine.learning.learner import Learner
from cosim.protocols.asynchronous.changes import Change, mixed, moved_along
from cosim.protocols.combinations import mean_of_models
from cosim.values.combinations import ReceivedModel, mean
from cosim.values.pending import PendingUpdate
from scenarios.papers.rawhfl.accumulated import accumulate

DATA = loaded(cosim.data.Synthetic())
NUM_PARAMETERS, NUM_MOVING = 12 * 8 + 8 + 2 * 8 + 8 * 4 + 4, 8 + 8 + 1
SHARE = cosim.codecs.KeptShare(share=0.1)


class Kept(nn.Module):
    """Batch normalisation, a counter, and a table that does not move."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.n, self.b = nn.Linear(12, 8), nn.BatchNorm1d(8), nn.Linear(8, 4)
        self.register_buffer("steps", torch.tensor(0))
        self.register_buffer("table", torch.linspace(0.0, 1.0, 8))

    def forward(self, x):
        if self.training:
            self.steps += 1
        return self.b(torch.relu(self.n(self.a(x)) + self.table))


MOVING = ("n.running_mean", "n.running_var", "steps")
CODECS = {
    cosim.codecs.RandomK(kept=SHARE): 32 * 16 + 32,
    cosim.codecs.TopK(kept=SHARE): 32 * 16 + 16 * 8,
    cosim.codecs.Qsgd(): 32 + 4 * NUM_PARAMETERS,
    cosim.codecs.BFloat16(): 16 * NUM_PARAMETERS,
    cosim.codecs.Signs(step_size=0.01): NUM_PARAMETERS,
    cosim.codecs.ErrorFeedback(codec=cosim.codecs.RandomK(kept=SHARE)): 32 * 16 + 32,
    cosim.codecs.Uncompressed(bits_per_parameter=8): 8 * NUM_PARAMETERS,
}
"""Codec -> bits of the trained parameters: a tenth of 156, rounded up, is 16."""


@pytest.fixture(scope="module")
def learner() -> Learner:
    return Learner(Kept(), DATA, num_workers=2)


def an_update(start, number=1, codec=None, **changes):
    work = {"num_steps": 4, "training": cosim.Sgd(batch_size=10, learning_rate=0.1)}
    samples = np.arange(40 * number, 40 * number + 40)
    return PendingUpdate(
        client=f"client-{number}", model=start, samples=samples, key=number, codec=codec, **work | changes
    )


def system(codec, **parts):
    usual = {
        "num_cells": 1,
        "num_clients": 3,
        "data": cosim.data.Synthetic(),
        "model": f"{__name__}:Kept",
        "codec": codec,
        "protocol": cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=1)),
        "end": cosim.AfterRounds(num_global_rounds=1),
        "evaluation": Never(),
    }
    return cosim.System(**usual | parts)


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: type(codec).__name__)
def test_each_has_32_bits_up_and_down(codec):
    transfers = cosim.run(system(codec)).transfers
    assert set(transfers["payload_bits"]) == {CODECS[codec] + 32 * NUM_MOVING}
    coded = system(codec, downlink=cosim.radio.Unicast(), model_codec=cosim.codecs.Float16())
    transfers = cosim.run(coded).transfers
    down = transfers[transfers["direction"] == "down"]
    assert set(down["payload_bits"]) == {16 * NUM_PARAMETERS + 32 * NUM_MOVING}


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: type(codec).__name__)
def test_they_arrive_as_they_are(codec, learner):
    """To the bit, while parameters do not."""
    model = learner.initial_model(key=1)
    numbers = range(3)
    sent = mean([an_update(model, number) for number in numbers])
    updates = [an_update(model, number, codec if codec.form != "uncoded" else None) for number in numbers]
    arrived, state = mean(updates), updates[0].next_codec_state
    learner.compute(arrived, state)
    sent, arrived = learner.weights(sent), learner.weights(arrived)
    for name in MOVING:
        np.testing.assert_array_equal(arrived[name], sent[name])
    assert (codec.form != "uncoded") == any((arrived[name] != sent[name]).any() for name in sent)
    assert not set(learner.state(state)) & set(MOVING)
    assert bool(learner.state(state)) == codec.keeps_state


def test_a_vote_moves_parameters_and_takes_the_mean_of_the_rest(learner):
    step = 0.01
    model = learner.initial_model(key=1)
    updates = [an_update(model, number, cosim.codecs.Signs(step_size=step)) for number in range(3)]
    voted, _ = cosim.server_updates.MajorityVote().moved(model, mean(updates), None, key=0)
    found, start = learner.weights(voted), learner.weights(model)
    exact = learner.weights(mean([an_update(model, number) for number in range(3)]))
    for name, values in found.items():
        if name in MOVING:
            np.testing.assert_array_equal(values, exact[name])
        else:
            np.testing.assert_allclose(np.abs(values - start[name]), step, rtol=1e-4)


def test_a_downlink_rounds_parameters_alone(learner):
    model = mean([an_update(learner.initial_model(key=1))])
    sent, received = learner.weights(model), learner.weights(ReceivedModel(model, cosim.codecs.BFloat16()))
    for name, values in received.items():
        expected = sent[name] if name in MOVING else torch.tensor(sent[name]).bfloat16().float().numpy()
        np.testing.assert_array_equal(values, expected)
    assert (received["a.weight"] != sent["a.weight"]).any()


# --- what servers make of them ---


def stored(learner, seed):
    rng = np.random.default_rng(seed)
    drawn = {n: rng.random(size, dtype=np.float32) for n, size in learner.shape.tensors.items()}
    return learner.stored_model(drawn)


def weighted(learner, *terms):
    return {
        name: sum(factor * learner.weights(model)[name].astype(float) for factor, model in terms)
        for name in learner.shape.tensors
    }


def assert_moved(learner, found, parameters, moving):
    found = learner.weights(found)
    assert tuple(found) == tuple(learner.shape.tensors)
    for name, values in found.items():
        wanted = (moving if name in MOVING else parameters)[name]
        np.testing.assert_allclose(values, wanted, rtol=2e-6, atol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    ("weights", "divisor"), [((1.0, 1.0), 2.0), ((1.0, 0.5), 2.0), ((0.5, 0.25), 2.0), ((3.0, 1.0), 2.0)]
)
@pytest.mark.parametrize("are_stale", [False, True])
def test_a_model_moved_along_changes_takes_a_mean_of_what_they_have(weights, divisor, are_stale, learner):
    """FedBuff's sum of changes for parameters; the mean of results, and what the model had for the rest."""
    model, old, one, other = (stored(learner, seed) for seed in range(4))
    changes = [Change(model, one), Change(old if are_stale else model, other)]
    first, second = (weight / divisor for weight in weights)
    start = old if are_stale else model
    total = first + second
    share = min(1.0, total)
    assert_moved(
        learner,
        moved_along(model, changes, weights, divisor),
        weighted(learner, (1.0, model), (first, one), (-first, model), (second, other), (-second, start)),
        weighted(
            learner, (1.0 - share, model), (share * first / total, one), (share * second / total, other)
        ),
    )


@pytest.mark.parametrize("coefficients", [(0.3, 0.4), (0.5, 0.5), (0.7, 2.3)])
def test_accumulated_gradients_take_a_mean_too(coefficients, learner):
    """RawHFL divides by the probability that an update arrives, so factors may add up to more than 1."""
    model = stored(learner, 5)
    updates = [an_update(model, number) for number in range(2)]
    one, other = (mean([update]) for update in updates)
    first, second = coefficients
    total = first + second
    share = min(1.0, total)
    assert_moved(
        learner,
        accumulate(model, updates, coefficients),
        weighted(learner, (1.0 - total, model), (first, one), (second, other)),
        weighted(
            learner, (1.0 - share, model), (share * first / total, one), (share * second / total, other)
        ),
    )


def test_means_and_mixtures_treat_all_alike(learner):
    """FedAsync's mixture, the cloud's mean of edge models."""
    model, one, other = (stored(learner, seed) for seed in range(3))
    both = weighted(learner, (0.75, model), (0.25, one))
    assert_moved(learner, mixed(model, Change(other, one), 0.25), both, both)
    both = weighted(learner, (0.2, one), (0.8, other))
    assert_moved(learner, mean_of_models([one, other], [1.0, 4.0]), both, both)


@pytest.mark.parametrize(
    "server",
    [
        cosim.server_updates.FedAvgM(),
        cosim.server_updates.FedAdam(),
        cosim.server_updates.FedYogi(),
        cosim.server_updates.FedAdagrad(),
    ],
    ids=type,
)
def test_steps_of_servers_leave_the_mean(server, learner):
    model, arrived = stored(learner, 1), stored(learner, 2)
    found, state = server.moved(model, arrived, None, key=0)
    learner.compute(found, state)
    for name in MOVING:
        np.testing.assert_array_equal(learner.weights(found)[name], learner.weights(arrived)[name])
    assert not any(name.endswith(MOVING) for name in learner.state(state))


def test_fed_nova_takes_a_mean(learner):
    """Of clients with 2 and 6 steps: weighted by a step each, so 3 to 1."""
    model = stored(learner, 3)
    updates = [an_update(model, number, num_steps=steps) for number, steps in ((0, 2), (1, 6))]
    found = cosim.server_updates.FedNova(weighted=cosim.server_updates.Mean()).mean_of(model, updates)
    wanted = weighted(learner, (0.75, mean(updates[:1])), (0.25, mean(updates[1:])))
    for name in MOVING:
        np.testing.assert_allclose(learner.weights(found)[name], wanted[name], rtol=1e-5)
