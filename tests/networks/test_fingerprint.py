"""Fingerprints tell networks apart that may do differently, and there is none of a user's own code."""

import copy
import functools
import threading
import types

import attrs
import numpy as np
import pytest
import torch
from torch import nn

import cosim
import models
from cosim import ConfigurationError
from cosim.configuration import part
from cosim.data import Synthetic
from cosim.networks import fingerprint as module
from cosim.networks.fingerprint import fingerprint
from cosim.networks.probe import network as probe
from cosim.tasks import Classification
from cosim.testing import small_system


def usual() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4), models.build("relu-4-3-2"))


def moved_parameter(network):
    with torch.no_grad():
        network[0].weight[0, 0] += 1e-6


def moved_buffer(network):
    network[1].running_mean += 1e-6


def frozen(network):
    network[0].bias.requires_grad_(False)


def in_evaluation_mode(network):
    network[1].eval()


def with_one_tensor_twice(network):
    network[1].weight.data = network[1].bias.data
    network[1].bias.data.fill_(1.0)


def with_other_momentum(network):
    network[1].momentum = 0.2


def with_an_attribute(network):
    network.kept = [1.0]


def with_a_hook_of_torch(network):
    nn.utils.parametrizations.weight_norm(network[0])


@pytest.mark.parametrize(
    "change",
    [
        moved_parameter,
        moved_buffer,
        frozen,
        in_evaluation_mode,
        with_one_tensor_twice,
        with_other_momentum,
        with_an_attribute,
    ],
)
def test_what_may_do_otherwise_has_another(change):
    network = usual()
    change(network)
    assert fingerprint(network) not in (None, fingerprint(usual()))


def test_the_same_network_made_again_and_a_copy_of_it_have_the_same():
    assert fingerprint(usual()) == fingerprint(usual()) == fingerprint(copy.deepcopy(usual()))
    assert fingerprint(usual()) is not None
    assert fingerprint(Classification()) == fingerprint(Classification()) is not None


class Own(nn.Linear):
    """A layer of one's own."""

    def forward(self, x):
        return super().forward(x)


@part
class Squared(Classification):
    """A task of one's own."""


class Silent:
    """Says nothing of itself."""

    def __getstate__(self):
        return {}


def a_function(*_):
    pass


def with_a_layer(network):
    network.append(Own(2, 2))


def with_a_task(network):
    network.kept = Squared()


def with_one_that_says_nothing(network):
    network.kept = Silent()


def with_a_hook(network):
    network[0].register_forward_hook(a_function)


def with_a_hook_behind_a_partial(network):
    network[0].register_forward_hook(functools.partial(a_function, 1.0))


def with_a_forward_pass_of_its_own(network):
    network[0].forward = types.MethodType(lambda self, x: x, network[0])


def with_a_class_that_is_named_like_torchs(network):
    network[0].__class__ = type("Linear", (nn.Linear,), {"__module__": nn.Linear.__module__})


def with_a_lock(network):
    network.lock = threading.Lock()


def with_a_large_array(network):
    network.kept = np.zeros(module.MOST_BYTES // 8 + 1)


def with_sparse_values(network):
    network.kept = torch.eye(3).to_sparse()


@pytest.mark.parametrize(
    "change",
    [
        with_a_layer,
        with_a_task,
        with_one_that_says_nothing,
        with_a_hook,
        with_a_hook_behind_a_partial,
        with_a_forward_pass_of_its_own,
        with_a_class_that_is_named_like_torchs,
        with_a_lock,
        with_a_large_array,
        with_sparse_values,
        with_a_hook_of_torch,
    ],
)
def test_there_is_none_of_a_users_own_code_and_of_what_cannot_be_read(change):
    network = usual()
    change(network)
    assert fingerprint(network) is None


def test_data_have_another_where_a_sample_is_another():
    data = Synthetic().load(cosim.Simulation(1), None)
    test_x = data.test_x.copy()
    test_x[3, 2] += 1e-3
    found = [fingerprint(of) for of in (data, Synthetic().load(cosim.Simulation(1), None))]
    assert found[0] == found[1] is not None
    assert fingerprint(attrs.evolve(data, test_x=test_x)) not in (None, found[0])


def test_what_is_known_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_known", {})
    monkeypatch.setattr(module, "MOST_KNOWN", 3)
    assert [module.once(np.abs, -number) for number in (1, 2, 1, 3, 4, 1)] == [1, 2, 1, 3, 4, 1]
    assert 0 < len(module._known) <= 3


# --- Runs ---------------------------------------------------------------------------------------------------

DRAWS = False


class Noisy(nn.Module):
    """Draws where a global says so."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(12, 4)

    def forward(self, x):
        return self.layer(x) + (torch.rand(()) if DRAWS else 0.0)


@part
class Blurred(Synthetic):
    """Other samples."""

    def load(self, sim, data_dir):
        usual = super().load(sim, data_dir)
        return attrs.evolve(usual, train_x=0.5 * usual.train_x)


def noisy():
    return Noisy()


SYSTEM = attrs.evolve(small_system(), end=cosim.AfterRounds(num_global_rounds=1))


@pytest.fixture
def tried(monkeypatch):
    """Networks that were tried, in a process that knows none."""
    networks, usual = [], probe.check_memory

    def check_memory(network, *given):
        networks.append(network)
        usual(network, *given)

    monkeypatch.setattr(probe, "check_memory", check_memory)
    monkeypatch.setattr(module, "_known", {})
    return networks


def test_a_network_is_tried_once_in_all_runs_of_a_process_and_again_with_other_values_or_data(tried):
    first = cosim.run(SYSTEM, num_workers=1)
    again = cosim.run(SYSTEM, num_workers=1)
    assert len(tried) == 1
    assert again.evaluations.equals(first.evaluations)
    cosim.run(attrs.evolve(SYSTEM, num_clients=6), num_workers=1)
    assert len(tried) == 1
    cosim.run(attrs.evolve(SYSTEM, seed=2), num_workers=1)
    cosim.run(attrs.evolve(SYSTEM, data=Blurred()), num_workers=1)
    assert len(tried) == 3
    for _ in range(2):
        cosim.run(attrs.evolve(SYSTEM, task=Squared()), num_workers=1)
    assert len(tried) == 5  # a task of one's own, each time


def test_a_users_network_is_tried_in_every_run_and_refused_where_it_has_changed(tried, monkeypatch):
    for num in (1, 2):
        cosim.run(SYSTEM, noisy, num_workers=1)
        assert len(tried) == num
    monkeypatch.setitem(globals(), "DRAWS", True)
    with pytest.raises(ConfigurationError, match="draws from torch's global generator"):
        cosim.run(SYSTEM, noisy, num_workers=1)
