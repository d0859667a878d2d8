"""Functions of one's own as local training: named, called client by client, refused in time."""

import numpy as np
import pytest
import torch
import worlds
from torch import nn

import cosim
from cosim.configuration import ConfigurationError
from cosim.learning.local_training.local_training import LocalTraining
from cosim.named_files.sources import sources_of
from cosim.testing import check_local_training

RATE = 0.1


def noisy_momentum(network, batches, state, rng):
    """Momentum that goes on, and noise."""
    parameters = dict(network.named_parameters())
    optimizer = torch.optim.SGD(parameters.values(), lr=RATE, momentum=0.9)
    for name, buffer in state.items():
        optimizer.state[parameters[name]]["momentum_buffer"] = buffer
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for values in parameters.values():
            values.add_(0.01 * torch.randn(values.shape, generator=rng))
    return {name: optimizer.state[p]["momentum_buffer"] for name, p in parameters.items()}


def careless(network, batches, state, rng):
    """Draws from what all threads share."""
    next(batches)
    torch.rand(1)


def of_two(network, batches):
    """Takes too little."""


class NoisyMomentum(LocalTraining):
    """The same in a class."""

    keeps_state = True

    def train(self, client):
        """The function."""
        batches = client.batches(client.num_steps, self.batch_size)
        return noisy_momentum(client.network, batches, client.state, client.generator)


def rule(function: str, **fields: object) -> cosim.TorchFunction:
    return cosim.TorchFunction(function=f"{__name__}:{function}", batch_size=10, **fields)


def system(local: LocalTraining) -> cosim.System:
    training = worlds.training(local=local, waiting=worlds.DEADLINE)
    return worlds.somebody_late(model="mlp-12-8-4", protocol=cosim.HFedAvg(training=training))


def test_it_is_a_class_with_that_function_bit_for_bit_with_any_number_of_workers():
    expected = cosim.run(system(NoisyMomentum(batch_size=10)), num_workers=1)
    for num_workers in (1, 2):
        found = cosim.run(system(rule("noisy_momentum", keeps_state=True)), num_workers=num_workers)
        np.testing.assert_equal(found.weights, expected.weights)


def test_the_contract_of_local_training():
    check_local_training(rule("noisy_momentum", keeps_state=True))


def test_its_file_is_among_the_sources_of_a_run():
    assert sources_of(system(rule("of_two")))[__name__]["of"] == ["of_two"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("elsewhere:train", "module elsewhere is not loaded.*--import elsewhere"),
        (
            f"{__name__}:nothing",
            r"TorchFunction\.function = .*: no such function. Usual fix: module:function",
        ),
        ("train", "no such function. Usual fix: module:function"),
        (f"{__name__}:RATE", "no such function"),
        (f"{__name__}:of_two", r"too many positional arguments. .*of_two\(network, batches, state, rng\)"),
    ],
)
def test_what_is_no_function_of_four_is_refused_before_the_clock_starts(function: str, message: str):
    with pytest.raises(ConfigurationError, match=message):
        cosim.run(system(cosim.TorchFunction(function=function)))


def test_shared_draws_and_states_that_nobody_keeps_are_refused_by_the_functions_name():
    with pytest.raises(ConfigurationError, match=r"careless draws from torch's global .*generator=rng"):
        cosim.run(system(rule("careless")), num_workers=1)
    with pytest.raises(ConfigurationError, match=r"noisy_momentum returned a state.*keeps_state = True"):
        cosim.run(system(rule("noisy_momentum")), num_workers=1)


def test_a_learning_rate_that_nobody_asks_for_is_refused():
    with pytest.raises(ConfigurationError, match=r"learning_rate = 0\.3: the function has a step size"):
        system(rule("noisy_momentum", learning_rate=0.3))
