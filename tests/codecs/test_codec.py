"""Codecs: what arrives of a change is what a loop in numpy makes of it; what is left out is not lost."""

import attrs
import numpy as np
import own_parts
import pytest
import torch
from coded_updates import update
from data_sets import loaded

import cosim
import models
from cosim.configuration import ConfigurationError
from cosim.data.synthetic import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.testing import check_codec, small_system
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel
from scenarios.papers.vhfl import Vhfl

DATA = loaded(Synthetic())
NUM_CLIENTS, NUM_ROUNDS = 3, 4
Arrays = dict[str, np.ndarray]


def learner(num_workers: int = 1) -> Learner:
    return Learner(models.build("relu-12-9-4"), DATA, num_workers=num_workers)


def rounds(of: Learner, codec: cosim.codecs.Codec) -> PendingModel:
    """FedAvg through a codec, asked for as a whole and read once."""
    model, states = of.initial_model(key=7), [None] * NUM_CLIENTS
    for round_ in range(NUM_ROUNDS):
        updates = [
            update(client, round_, model, codec=codec, codec_state=states[client])
            for client in range(NUM_CLIENTS)
        ]
        states = [one.next_codec_state for one in updates]
        model = mean(updates)
    return model


def rounds_by_hand(num_rounds: int = NUM_ROUNDS) -> Arrays:
    """The same by numpy, from updates that nothing changes."""
    of = learner()
    weights, left = of.weights(of.initial_model(key=7)), [{} for _ in range(NUM_CLIENTS)]
    for round_ in range(num_rounds):
        start, arrived = of.stored_model(weights), []
        for client in range(NUM_CLIENTS):
            trained = of.weights(mean([update(client, round_, start)]))
            after = {}
            for name, values in trained.items():
                change = values - weights[name] + left[client].get(name, np.float32(0))
                in_order = sorted(np.abs(change).ravel(), reverse=True)
                is_sent = np.abs(change) > in_order[change.size // 4]
                left[client][name] = np.where(is_sent, np.float32(0), change)
                after[name] = weights[name] + np.where(is_sent, change, np.float32(0))
            arrived.append(after)
        weights = {
            name: np.float32(sum(np.float64(of_client[name]) for of_client in arrived) / NUM_CLIENTS)
            for name in weights
        }
    return weights


@pytest.mark.parametrize("num_workers", [1, 3])
def test_what_arrives_and_what_is_left_is_that_of_a_loop(num_workers):
    of = learner(num_workers)
    found, by_hand = of.weights(rounds(of, own_parts.Largest())), rounds_by_hand()
    for name, values in by_hand.items():
        np.testing.assert_allclose(found[name], values, rtol=0.0, atol=2e-7)
    plain = of.weights(rounds(of, None))
    assert max(np.abs(plain[name] - values).max() for name, values in by_hand.items()) > 1e-3


def test_what_is_left_out_and_what_arrives_add_up_to_what_was_learned():
    of = learner()
    start = of.initial_model(key=7)
    sent = update(0, 0, start, codec=own_parts.Largest())
    arrived, left = of.weights(mean([sent])), of.state(sent.next_codec_state)
    learned = of.weights(mean([update(0, 0, start)]))
    for name, values in learned.items():
        np.testing.assert_allclose(arrived[name] + left[name], values, rtol=0.0, atol=1e-7)
        assert (left[name] != 0).mean() >= 0.7


class Nothing(cosim.codecs.Codec):
    """Nothing arrives."""

    def bits(self, num_values):
        return 1.0

    def transmit(self, sent):
        for values in sent.change.values():
            values.zero_()


class Half(cosim.codecs.Codec):
    """A draw for every update decides what arrives: all or nothing, twice."""

    def bits(self, num_values):
        return 32.0 * num_values

    def transmit(self, sent):
        factor = 2.0 * (torch.rand(1, generator=sent.generator) < 0.5)
        for values in sent.change.values():
            values.mul_(factor)


def small(codec: cosim.codecs.Codec) -> cosim.System:
    return attrs.evolve(small_system(), codec=codec)


def test_where_nothing_arrives_the_model_stays():
    scores = cosim.run(small(Nothing())).evaluations["loss_nats"]
    assert len(scores) > 2
    assert (scores == scores[0]).all()


class Losses(own_parts.Largest):
    """Lose what is left out."""

    keeps_state = False

    def transmit(self, sent):
        super().transmit(sent)


def test_a_run_hands_on_what_is_left_out():
    """From a client's first update to its second; the first is the same."""
    kept, lost = (
        cosim.run(small(codec)).evaluations["loss_nats"] for codec in (own_parts.Largest(), Losses())
    )
    assert kept[0] == lost[0]
    assert kept.iloc[-1] < lost.iloc[-1]


def test_draws_follow_from_the_updates_key():
    check_codec(Half())
    of = learner()
    start = of.initial_model(key=7)
    before = of.weights(start)
    factors = set()
    for round_ in range(8):
        arrived = of.weights(mean([update(0, round_, start, codec=Half())]))
        again = of.weights(mean([update(0, round_, start, codec=Half())]))
        learned = of.weights(mean([update(0, round_, start)]))
        name = max(before, key=lambda name: before[name].size)
        assert (arrived[name] == again[name]).all()
        change, whole = arrived[name] - before[name], learned[name] - before[name]
        factors.add(round(float((change * whole).sum() / (whole * whole).sum()), 4))
    assert factors == {0.0, 2.0}


class Global(Half):
    """Draws where every thread does."""

    def transmit(self, sent):
        torch.rand(1)


class Unannounced(Nothing):
    """Return a state that is not kept."""

    def transmit(self, sent):
        return dict(sent.change)


class Losing(Nothing):
    """Sends less tensors than there are."""

    def transmit(self, sent):
        sent.change.popitem()


@pytest.mark.parametrize(
    ("codec", "rule"),
    [
        (Global(), r"Global\.transmit draws from torch"),
        (Unannounced(), r"Unannounced\.transmit returned a state that would be lost"),
        (Losing(), r"Losing\.transmit put other tensors into sent\.change"),
    ],
)
def test_a_codec_that_does_what_it_may_not_is_refused(codec, rule):
    with pytest.raises(ConfigurationError, match=rule):
        cosim.run(small(codec))


def test_a_state_where_a_cell_has_other_units_each_round_is_refused():
    hist = attrs.evolve(small_system(), codec=own_parts.Largest(), protocol=cosim.Hist())
    with pytest.raises(ConfigurationError, match=r"System\.codec = .*Largest.*: .*other units"):
        cosim.run(hist)


def test_vhfl_refuses_what_changes_the_gradients_that_come_along():
    one_cell = {"num_cells": 1, "codec": Half(), "protocol": Vhfl()}
    with pytest.raises(ConfigurationError, match=r"System\.codec = .*Half.*: .*gradients"):
        attrs.evolve(small_system(), **one_cell)
