"""Fingerprints tell networks apart that may do differently, and no others; a known one is tried no more."""

import copy
import threading
import types

import attrs
import numpy as np
import pytest
import torch
from torch import nn

import cosim
from cosim import ConfigurationError
from cosim.configuration import knob, part
from cosim.configuration.rules import positive
from cosim.data import Synthetic
from cosim.networks import fingerprint as module
from cosim.networks.fingerprint import fingerprint
from cosim.networks.probe import network as probe
from cosim.tasks import Classification
from cosim.testing import small_system

FACTOR = 1.0
OTHER = types.ModuleType("other")
OTHER.shift = lambda x: x


def scaled(x):
    return FACTOR * x


class Usual(nn.Module):
    """Reads an attribute, a global by a function, a function of another module, and a default."""

    of_all = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.kept = nn.Linear(12, 4), nn.BatchNorm1d(4), [1.0]
        self.around = self._made(0.0)

    def _made(self, more):
        return lambda x: x + more

    def forward(self, x, power=1.0):
        return self.around(self.of_all * OTHER.shift(scaled(self.norm(self.layer(x)))) ** power)


def usual() -> Usual:
    torch.manual_seed(1)
    return Usual()


def moved_parameter(network, monkeypatch):
    with torch.no_grad():
        network.layer.weight[0, 0] += 1e-6


def moved_buffer(network, monkeypatch):
    network.norm.running_mean += 1e-6


def frozen(network, monkeypatch):
    network.layer.bias.requires_grad_(False)


def in_evaluation_mode(network, monkeypatch):
    network.norm.eval()


def with_one_tensor_twice(network, monkeypatch):
    network.norm.weight.data = network.norm.bias.data
    network.norm.bias.data.fill_(1.0)


def with_other_momentum(network, monkeypatch):
    network.norm.momentum = 0.2


def with_an_attribute(network, monkeypatch):
    network.kept.append(2.0)


def with_a_hook(network, monkeypatch):
    network.layer.register_forward_hook(lambda *_: None)


def with_another_layer(network, monkeypatch):
    network.layer.__class__ = type("Linear", (nn.Linear,), {"forward": lambda self, x: x})


def with_another_closure(network, monkeypatch):
    network.around = network._made(1.0)


def with_a_forward_pass_of_its_own(network, monkeypatch):
    network.forward = types.MethodType(lambda self, x: x, network)


def of_another_method(network, monkeypatch):
    monkeypatch.setattr(Usual, "forward", lambda self, x: self.layer(x))


def of_another_default(network, monkeypatch):
    monkeypatch.setattr(Usual.forward, "__defaults__", (2.0,))


def of_another_class_attribute(network, monkeypatch):
    monkeypatch.setattr(Usual, "of_all", 2.0)


def of_another_global(network, monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", 2.0)


def of_another_function(network, monkeypatch):
    monkeypatch.setitem(globals(), "scaled", lambda x: x)


def of_another_function_elsewhere(network, monkeypatch):
    monkeypatch.setattr(OTHER, "shift", lambda x: x + 1.0)


CHANGES = (
    moved_parameter,
    moved_buffer,
    frozen,
    in_evaluation_mode,
    with_one_tensor_twice,
    with_other_momentum,
    with_an_attribute,
    with_a_hook,
    with_another_layer,
    with_another_closure,
    with_a_forward_pass_of_its_own,
    of_another_method,
    of_another_default,
    of_another_class_attribute,
    of_another_global,
    of_another_function,
    of_another_function_elsewhere,
)


def test_the_same_network_made_again_and_a_copy_of_it_have_the_same():
    assert fingerprint(usual()) == fingerprint(usual()) == fingerprint(copy.deepcopy(usual()))
    assert fingerprint(usual()) is not None


@pytest.mark.parametrize("change", CHANGES)
def test_what_may_do_otherwise_has_another(change, monkeypatch):
    before, network = fingerprint(usual()), usual()
    change(network, monkeypatch)
    assert fingerprint(network) not in (None, before)


def test_a_class_that_is_written_again_has_another():
    """A notebook, in which a cell is changed and run again: the same names, other code."""
    found = []
    for operation in ("+", "-"):
        cell = {"nn": nn, "__name__": "__main__"}
        code = f"class Own(nn.Linear):\n    def forward(self, x):\n        return x {operation} self.weight"
        exec(compile(code, "<cell>", "exec"), cell)
        torch.manual_seed(1)
        found.append(fingerprint(cell["Own"](2, 2)))
    assert len({*found, None}) == 3


@part
class Squared(Classification):
    """A task of one's own."""

    power: float = knob(positive, default=2.0)

    def loss(self, outputs, targets):
        return (outputs.gather(1, targets[:, None]) - 1.0).abs().pow(self.power).mean()


def test_tasks_and_data_have_another_where_a_knob_a_method_or_a_sample_is_another(monkeypatch):
    data = Synthetic().load(cosim.Simulation(1), None)
    test_x = data.test_x.copy()
    test_x[3, 2] += 1e-3
    found = [
        fingerprint(task, data)
        for task in (Squared(), Squared(power=3.0), Classification(), Classification())
    ]
    assert found[2] == found[3]
    found += [fingerprint(Squared(), attrs.evolve(data, test_x=test_x))]
    monkeypatch.setattr(Squared, "loss", lambda self, outputs, targets: outputs.mean())
    found += [fingerprint(Squared(), data)]
    assert len({*found, None}) == 6


def test_classes_that_are_made_in_a_function_have_another_by_what_is_around_them():
    """Python says of them that they are of the module abc."""

    def made(sign):
        return type("Own", (Classification,), {"loss": lambda self, x, y: sign * x.mean()})()

    assert len({fingerprint(made(sign)) for sign in (1.0, -1.0)} - {None}) == 2


class Silent:
    """Says nothing of itself."""

    def __getstate__(self):
        return {}


def with_a_lock(network, monkeypatch):
    network.lock = threading.Lock()


def with_one_that_says_nothing(network, monkeypatch):
    network.kept = Silent()


def with_a_large_array(network, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    network.kept = np.zeros(13)


def with_sparse_values(network, monkeypatch):
    network.kept = torch.eye(3).to_sparse()


@pytest.mark.parametrize(
    "change", [with_a_lock, with_one_that_says_nothing, with_a_large_array, with_sparse_values]
)
def test_what_cannot_be_read_has_none(change, monkeypatch):
    network = usual()
    change(network, monkeypatch)
    assert fingerprint(network) is None


def test_what_is_known_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_known", {})
    monkeypatch.setattr(module, "MOST_KNOWN", 3)
    assert [module.once(abs, -number) for number in (1, 2, 1, 3, 4, 1)] == [1, 2, 1, 3, 4, 1]
    assert len(module._known) <= 3


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


@pytest.mark.parametrize("network", [None, noisy], ids=["by name", "own"])
def test_a_network_is_tried_once_in_all_runs_of_a_process_and_again_with_other_values_or_data(network, tried):
    first = cosim.run(SYSTEM, network, num_workers=1)
    again = cosim.run(SYSTEM, network, num_workers=1)
    assert len(tried) == 1
    assert again.evaluations.equals(first.evaluations)
    cosim.run(attrs.evolve(SYSTEM, num_clients=6), network, num_workers=1)
    assert len(tried) == 1
    cosim.run(attrs.evolve(SYSTEM, seed=2), network, num_workers=1)
    cosim.run(attrs.evolve(SYSTEM, data=Blurred()), network, num_workers=1)
    cosim.run(attrs.evolve(SYSTEM, task=Squared()), network, num_workers=1)
    assert len(tried) == 4


def test_a_network_that_has_changed_since_the_last_run_is_tried_again_and_refused(tried, monkeypatch):
    cosim.run(SYSTEM, noisy, num_workers=1)
    monkeypatch.setitem(globals(), "DRAWS", True)
    with pytest.raises(ConfigurationError, match="draws from torch's global generator"):
        cosim.run(SYSTEM, noisy, num_workers=1)
