"""Memory: bits of training by hand, refused with their numbers, and unlimited unless a device says so."""

import attrs
import pytest
import torch
import worlds
from torch import nn

import cosim
from cosim.configuration import ConfigurationError
from cosim.networks.flops import activation_bits
from cosim.system.memory import TrainingMemory
from cosim.testing import small_system

PARAMETERS = worlds.PARAMETERS
BATCH_SIZE = 10
ACTIVATION_BITS = 32 * (12 + 8 + 4)
"""Of a sample in relu-12-8-4: itself, the hidden units after the rectifier, the outputs."""


def plain_bits(num_parameters: int = PARAMETERS, num_units: int = 8, num_states: int = 0) -> float:
    """Weights, gradients, values of state for each parameter, activations of a mini-batch."""
    return 32.0 * ((2 + num_states) * num_parameters + BATCH_SIZE * (12 + num_units + 4))


def with_memory(bits: float, **changes: object) -> cosim.System:
    """HFedAvg in two cells of three and two clients."""
    usual = attrs.evolve(worlds.alike(3, 2, protocol=cosim.HFedAvg(training=worlds.training())), **changes)
    return attrs.evolve(usual, devices=attrs.evolve(usual.devices, memory_bits=bits))


def trained_by(local: cosim.training.LocalTraining) -> cosim.HFedAvg:
    return cosim.HFedAvg(training=worlds.training(local=local))


SYSTEMS = {
    "sgd": ({}, plain_bits()),
    "momentum": (
        {"protocol": trained_by(cosim.training.Momentum(batch_size=BATCH_SIZE))},
        plain_bits(num_states=1),
    ),
    "adam": ({"protocol": trained_by(cosim.training.Adam(batch_size=BATCH_SIZE))}, plain_bits(num_states=2)),
    "proximal": (
        {"protocol": trained_by(cosim.training.Proximal(batch_size=BATCH_SIZE))},
        plain_bits(num_states=1),
    ),
    "scaffold": (
        {"protocol": trained_by(cosim.training.Scaffold(batch_size=BATCH_SIZE))},
        plain_bits(num_states=2),
    ),
    "error feedback": ({"codec": cosim.codecs.ErrorFeedback()}, plain_bits(num_states=1)),
    "half a model": ({"protocol": cosim.Hist(training=worlds.training())}, plain_bits(PARAMETERS // 2, 4)),
    "asynchronous": (
        {
            "protocol": cosim.FedAsync(training=cosim.ClientTraining(local=cosim.Sgd(batch_size=BATCH_SIZE))),
            "end": cosim.AfterVersions(num_versions=2),
        },
        plain_bits(),
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_fits_to_the_bit_runs_and_one_bit_less_is_refused(name):
    changes, bits = SYSTEMS[name]
    changes = {"evaluation": cosim.Never(), **changes}
    cosim.run(with_memory(bits, **changes))
    with pytest.raises(ConfigurationError, match=r"client-0000 has .* bits of memory, but training takes "):
        cosim.run(with_memory(bits - 1.0, **changes))


def test_a_larger_part_needs_more_and_names_the_client_of_its_cell():
    """The second cell has six of eight hidden units."""
    sizes = cosim.protocols.Fractions(values=(0.25, 0.75))
    protocol = cosim.Hist(training=worlds.training(), submodel_sizes=sizes)
    bits = plain_bits(6 * (12 + 4), 6)
    cosim.run(with_memory(bits, protocol=protocol, evaluation=cosim.Never()))
    with pytest.raises(ConfigurationError, match=r"^client-0003 has .*activations of a mini-batch"):
        cosim.run(with_memory(bits - 1.0, protocol=protocol, evaluation=cosim.Never()))


def test_it_is_refused_before_a_folder_is_made(tmp_path):
    with pytest.raises(ConfigurationError, match=r"bits of memory"):
        cosim.run(with_memory(100.0), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_activations_of_a_convolution_by_hand():
    """4 x 4 pixels, two channels of 2 x 2 that the flattened layer shares, three outputs."""
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8, 3))
    shapes = {name: tuple(values.shape) for name, values in network.named_parameters()}
    assert activation_bits(network, shapes, torch.zeros(1, 1, 4, 4).numpy()) == 32 * (16 + 8 + 3)
    twice = activation_bits(network, shapes, torch.zeros(2, 1, 4, 4).numpy())
    assert twice == 2 * 32 * (16 + 8 + 3)


def test_a_theory_of_weights_alone_lets_in_what_does_not_fit():
    system = small_system()
    assert 0.5 * plain_bits() > 32.0 * PARAMETERS
    with pytest.raises(ConfigurationError, match=r"bits of memory"):
        cosim.run(attrs.evolve(system, devices=attrs.evolve(system.devices, memory_bits=32.0 * PARAMETERS)))
    assert sum(TrainingMemory(1.0, 2.0, 3.0)) == 6.0
