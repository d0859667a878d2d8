"""Networks by name: families from installed packages, functions from modules that are loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import models
from cosim import ConfigurationError
from cosim.networks import named
from cosim.networks.named import network_of

ROOT = Path(__file__).resolve().parents[2]


def small() -> torch.nn.Module:
    """A network of a module that is loaded."""
    return torch.nn.Linear(3, 2)


def test_a_name_gives_what_its_family_builds():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        wanted = models.build("mlp-4-3-2").state_dict()
    found = network_of("mlp-4-3-2", key=1).state_dict()
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("name", ["relu-4-3-2", f"{__name__}:small"])
def test_without_values_there_are_shapes_only(name):
    with_values, without = network_of(name), network_of(name, values=False)
    assert all(tensor.is_meta for tensor in without.parameters())
    assert [tensor.shape for tensor in without.parameters()] == [t.shape for t in with_values.parameters()]
    assert not any(tensor.is_meta for tensor in with_values.parameters())


def test_a_name_imports_nothing(tmp_path, monkeypatch):
    (tmp_path / "unasked.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=r"'unasked:network': the module unasked is not loaded"):
        network_of("unasked:network")


def test_where_no_package_offers_networks_the_fix_is_named(monkeypatch):
    monkeypatch.setattr(named, "offers", lambda group: ())
    with pytest.raises(ConfigurationError, match=r"no installed package offers networks\."):
        network_of("relu-4-3-2")


def test_another_package_may_offer_families_too(monkeypatch):
    class Offer:
        value, module = "theirs:build", "theirs"

        def load(self):
            def build(name):
                if name != "theirs-3":
                    raise ValueError("Theirs: no such network.")
                return small()

            return build

    ours = named.offers(named.GROUP)
    monkeypatch.setattr(named, "offers", lambda group: (*ours, Offer()))
    assert isinstance(network_of("theirs-3"), torch.nn.Linear)
    assert isinstance(network_of("relu-4-3-2"), models.FAMILIES["relu"].build)
    with pytest.raises(ConfigurationError, match=r"no network 'x-1'.*Theirs: no such network"):
        network_of("x-1")


def test_a_users_own_models_beside_the_script_is_one_clear_sentence(tmp_path):
    """Their module hides ours; a network of their own works all the same."""
    (tmp_path / "models.py").write_text(
        "from torch import nn\ndef build(name='theirs'):\n    return nn.Linear(64, 10)\n"
    )
    (tmp_path / "script.py").write_text(
        "import cosim, models\n"
        "steps, local = cosim.SameSteps(num_local_steps=1), cosim.Sgd(batch_size=5)\n"
        "training = cosim.EdgeTraining(num_edge_rounds=1, steps=steps, local=local)\n"
        "data = cosim.Digits()\n"
        "for model, out in (('relu-64-8-10', 'a'), ('models:build', 'b')):\n"
        "    system = cosim.System(num_cells=1, num_clients=2, model=model, data=data,\n"
        "        protocol=cosim.HFedAvg(training=training), end=cosim.AfterRounds(num_global_rounds=1))\n"
        "    try:\n"
        "        print(type(cosim.run(system, out=out).network).__name__)\n"
        "    except cosim.ConfigurationError as refused:\n"
        "        print(refused)\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    hidden, theirs = done.stdout.splitlines()
    assert hidden.endswith("Give another name to any file of yours that is called models.py.")
    assert not (tmp_path / "a").exists()
    assert theirs == "Linear"
