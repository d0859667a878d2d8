"""Vertical training against autograd on the joined network, and against Algorithm 1 written as a loop."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn

import models
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.papers.vhfl.vertical import VerticalSgd
from scenarios.papers.vhfl.vertical_program import epoch_orders

NUM_GLOBAL, NUM_LOCAL = 4, 3
VERTICAL, HORIZONTAL = "vertical-4-3-8-5", "horizontal-3-8-5"
SIZES = (7, 12, 12)


def dataset(num_global: int = NUM_GLOBAL) -> Dataset:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((sum(SIZES) + 10, num_global + NUM_LOCAL)).astype(np.float32)
    y = (1.0 + x[:, -1] * x[:, 0] + 0.5 * x[:, 1]).astype(np.float32)
    cut = sum(SIZES)
    return Dataset(
        name="toy",
        train_x=x[:cut],
        train_y=y[:cut],
        test_x=x[cut:],
        test_y=y[cut:],
        num_classes=None,
        num_global_features=num_global,
    )


HELD = np.split(np.random.default_rng(6).permutation(sum(SIZES)), np.cumsum(SIZES)[:-1])


def updates_of(start, *, num_epochs, batch_size, learning_rate=0.1, central_learning_rate=0.07):
    rule = VerticalSgd(
        batch_size=batch_size,
        learning_rate=learning_rate,
        central_learning_rate=central_learning_rate,
    )
    return [
        PendingUpdate(
            client=f"client-{number}",
            model=start,
            samples=samples,
            key=number,
            num_steps=num_epochs * math.ceil(len(samples) / batch_size),
            training=rule,
        )
        for number, samples in enumerate(HELD)
    ]


def network_with(name: str, weights) -> nn.Module:
    """A float64 copy with the given weights: the reference computes in double."""
    network = models.build(name).double()
    network.load_state_dict({n: torch.tensor(w, dtype=torch.float64) for n, w in weights.items()})
    return network


def assert_equal_weights(found, network: nn.Module):
    wanted = {name: p.detach().numpy() for name, p in network.named_parameters()}
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=3e-6, err_msg=name)


def test_one_full_batch_of_everyone_is_one_step_of_joint_training():
    data, rate, central_rate = dataset(), 0.1, 0.07
    learner = Learner(models.build(VERTICAL), data)
    start = learner.initial_model(1)
    updates = updates_of(start, num_epochs=1, batch_size=100)
    model = mean(updates, weights=[len(u.samples) for u in updates])

    joint = network_with(VERTICAL, learner.weights(start))
    x, y = torch.tensor(data.train_x).double(), torch.tensor(data.train_y).double()
    (joint(x).squeeze(-1) - y).square().mean().backward()  # sum of q_j f_j with q_j = D_j / D: eq. 15
    with torch.no_grad():
        for name, p in joint.named_parameters():
            p -= (central_rate if name.startswith("central.") else rate) * p.grad
    assert_equal_weights(learner.weights(model), joint)
    moved = learner.weights(model)
    begun = learner.weights(start)
    assert all(np.abs(moved[name] - begun[name]).max() > 1e-4 for name in moved)


def algorithm_1(name, weights, data, samples, key, num_epochs, batch_size, rate, central_rate):
    """One client as the paper tells it, sample gradients in a table; the server's part back-propagates it."""
    network = network_with(name, weights)
    central, local = copy.deepcopy(network.central), network.local
    x, y = torch.tensor(data.train_x[samples]).double(), torch.tensor(data.train_y[samples]).double()
    u = central(x[:, :NUM_GLOBAL])
    table = torch.zeros_like(u)
    for order in epoch_orders(len(samples), num_epochs, key):
        for first in range(0, len(samples), batch_size):
            batch = torch.tensor(order[first : first + batch_size])
            u_batch = u.detach()[batch].requires_grad_()
            out = local(torch.cat((u_batch, x[batch][:, NUM_GLOBAL:]), 1)).squeeze(-1)
            losses = (out - y[batch]).square()
            gradients = torch.autograd.grad(losses.mean(), (u_batch, *local.parameters()))
            table[batch] += gradients[0] * len(batch) / num_epochs
            with torch.no_grad():
                for p, g in zip(local.parameters(), gradients[1:], strict=True):
                    p -= rate * g
    steps = torch.autograd.grad(u, list(central.parameters()), grad_outputs=table / len(samples))
    return local, steps


@pytest.mark.parametrize(("num_epochs", "batch_size"), [(1, 4), (3, 4), (3, 100), (2, 1)])
@pytest.mark.parametrize("arrived", [(0, 1, 2), (0, 2)])
def test_epochs_and_batches_are_those_of_algorithm_1(num_epochs, batch_size, arrived):
    data, rate, central_rate = dataset(), 0.1, 0.07
    learner = Learner(models.build(VERTICAL), data)
    start = learner.initial_model(2)
    updates = updates_of(start, num_epochs=num_epochs, batch_size=batch_size)
    kept = [updates[number] for number in arrived]
    model = mean(kept, weights=[len(u.samples) for u in kept])

    weights = learner.weights(start)
    wanted = network_with(VERTICAL, weights)
    total = sum(SIZES[number] for number in arrived)
    with torch.no_grad():
        for p in wanted.local.parameters():
            p.zero_()
    for number in arrived:
        share = SIZES[number] / total
        local, steps = algorithm_1(
            VERTICAL, weights, data, HELD[number], number, num_epochs, batch_size, rate, central_rate
        )
        with torch.no_grad():
            for p, own in zip(wanted.local.parameters(), local.parameters(), strict=True):
                p += share * own
            for p, step in zip(wanted.central.parameters(), steps, strict=True):
                p -= central_rate * share * step
    assert_equal_weights(learner.weights(model), wanted)


def test_without_a_central_part_epochs_are_plain_sgd():
    data = dataset(num_global=0)
    learner = Learner(models.build(HORIZONTAL), data)
    start = learner.initial_model(3)
    (update, *_) = updates_of(start, num_epochs=2, batch_size=5)
    network = network_with(HORIZONTAL, learner.weights(start))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    x, y = torch.tensor(data.train_x[HELD[0]]).double(), torch.tensor(data.train_y[HELD[0]]).double()
    for order in epoch_orders(len(HELD[0]), 2, key=0):
        for first in (0, 5):
            batch = torch.tensor(order[first : first + 5])
            optimizer.zero_grad()
            (network(x[batch]).squeeze(-1) - y[batch]).square().mean().backward()
            optimizer.step()
    assert_equal_weights(learner.weights(mean([update])), network)


def test_every_epoch_takes_every_sample_once():
    orders = epoch_orders(9, 4, key=1)
    assert (np.sort(orders) == np.arange(9)).all()
    assert len({tuple(order) for order in orders}) == 4


def test_errors_of_a_predictor_by_hand():
    data = dataset(num_global=0)
    learner = Learner(models.build(HORIZONTAL), data)
    model = learner.initial_model(4)
    network = network_with(HORIZONTAL, learner.weights(model))
    errors = {}
    for part in ("train", "test"):
        x, y = (torch.tensor(getattr(data, f"{part}_{what}")).double() for what in "xy")
        errors[part] = (network(x).squeeze(-1) - y).detach().numpy()
    score = learner.evaluate(model)
    assert score["train_mse"] == pytest.approx(np.mean(errors["train"] ** 2), rel=1e-5)
    assert score["test_mse"] == pytest.approx(np.mean(errors["test"] ** 2), rel=1e-5)
    ratio = np.abs(errors["test"]).sum() / np.abs(data.test_y).sum()
    assert score["error_ratio"] == pytest.approx(ratio, rel=1e-5)


def test_nothing_is_trained_before_it_is_read():
    learner = Learner(models.build(VERTICAL), dataset())
    model = mean(updates_of(learner.initial_model(1), num_epochs=2, batch_size=4))
    assert learner.num_local_steps == 0
    learner.evaluate(model)
    assert learner.num_local_steps == 2 * (2 + 3 + 3)


def test_the_central_part_must_fit_what_the_server_sees():
    with pytest.raises(ConfigurationError, match=r"central part takes 4 features; the server sees 2 .* 5"):
        Learner(models.build(VERTICAL), dataset_with_global(2))


def dataset_with_global(num_global: int) -> Dataset:
    data = dataset()
    return Dataset(
        name="toy",
        train_x=data.train_x,
        train_y=data.train_y,
        test_x=data.test_x,
        test_y=data.test_y,
        num_classes=None,
        num_global_features=num_global,
    )
