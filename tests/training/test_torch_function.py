"""Functions of one's own as local training: named, called client by client, refused in time."""

import numpy as np
import pytest
import torch
import worlds
from torch import nn

import cosim
from cosim.configuration import ConfigurationError
from cosim.own_code.sources import sources_of
from cosim.testing import check_local_training
from cosim.training.port import LocalTraining

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


def rule(function: str, **fields: object) -> cosim.training.TorchFunction:
    return cosim.training.TorchFunction(function=f"{__name__}:{function}", batch_size=10, **fields)


def system(local: LocalTraining) -> cosim.System:
    training = worlds.training(local=local, waiting=worlds.DEADLINE)
    return worlds.some_late(model="mlp-12-8-4", protocol=cosim.HFedAvg(training=training))


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
            r"TorchFunction\.function = .*: there is no such function\. Use module:function",
        ),
        ("train", "no such function. Use module:function"),
        (f"{__name__}:RATE", "no such function"),
        (f"{__name__}:of_two", r"too many positional arguments. .*of_two\(network, batches, state, rng\)"),
    ],
)
def test_what_is_no_function_of_four_is_refused_before_the_clock_starts(function: str, message: str):
    with pytest.raises(ConfigurationError, match=message):
        cosim.run(system(cosim.training.TorchFunction(function=function)))


def test_shared_draws_and_states_that_nobody_keeps_are_refused_by_the_functions_name():
    with pytest.raises(ConfigurationError, match=r"careless draws from torch's global .*generator=rng"):
        cosim.run(system(rule("careless")), num_workers=1)
    with pytest.raises(ConfigurationError, match=r"noisy_momentum returned a state.*keeps_state = True"):
        cosim.run(system(rule("noisy_momentum")), num_workers=1)


def test_a_learning_rate_that_nobody_asks_for_is_refused():
    with pytest.raises(ConfigurationError, match=r"learning_rate = 0\.3: has no effect"):
        system(rule("noisy_momentum", learning_rate=0.3))


# --- Mini-batches are the steps that a client pays for ------------------------------------------------------


def step(network, x, y, rate=RATE):
    loss = nn.functional.cross_entropy(network(x), y)
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    with torch.no_grad():
        for values, gradient in zip(network.parameters(), gradients, strict=True):
            values.sub_(gradient, alpha=rate)


def five_epochs(network, batches, state, rng):
    """Loop over a torch.utils.data.DataLoader."""
    for _ in range(5):
        for x, y in batches:
            step(network, x, y)


def in_two_parts(network, batches, state, rng):
    """One pass: the first of them by `next`, some in a loop that breaks, the rest in another."""
    step(network, *next(batches))
    for number, (x, y) in enumerate(batches):
        step(network, x, y)
        if number == 0:
            break
    for x, y in batches:
        step(network, x, y)
    assert next(batches, None) is None


def plain(network, batches, state, rng):
    """One pass."""
    assert len(batches) == worlds.STEPS
    for x, y in batches:
        step(network, x, y)


def stops_early(network, batches, state, rng):
    """The first two."""
    for _, (x, y) in zip(range(2), batches, strict=False):
        step(network, x, y)


def takes_none(network, batches, state, rng):
    """Nothing."""


def with_rate(network, batches, state, rng, learning_rate):
    """One pass, with the rate of the rule."""
    for x, y in batches:
        step(network, x, y, learning_rate)


def with_anything(network, batches, state, rng, **others):
    """Takes what else there is, and there is nothing."""
    assert not others
    plain(network, batches, state, rng)


class TwoPasses(LocalTraining):
    """A class that goes twice through mini-batches, asked for once or twice."""

    asks_again = False

    def train(self, client):
        """Two passes."""
        batches = client.batches(client.num_steps, self.batch_size)
        for _ in range(2):
            for x, y in batches:
                step(client.network, x, y)
            if self.asks_again:
                batches = client.batches(client.num_steps, self.batch_size)


class AsksTwice(TwoPasses):
    """Asked for twice."""

    asks_again = True


def weights(local: LocalTraining):
    return cosim.run(system(local), num_workers=1).weights


def test_a_second_pass_is_refused_and_says_what_to_do():
    message = r"its mini-batches a second time, .*SameSteps\(num_local_steps=\.\.\.\) or Epochs"
    for local in (rule("five_epochs"), TwoPasses(batch_size=10)):
        with pytest.raises(ConfigurationError, match=message):
            weights(local)
    assert weights(AsksTwice(batch_size=10)) is not None


@pytest.mark.parametrize("function", ["five_epochs", "takes_none", "careless", "noisy_momentum"])
def test_what_no_function_may_do_is_refused_before_anything_is_written(function: str, tmp_path):
    with pytest.raises(ConfigurationError, match=function if function != "five_epochs" else "second time"):
        cosim.run(system(rule(function)), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert cosim.run(cosim.evolve(system(rule(function)), evaluation=cosim.Never())).weights is None


def test_one_pass_may_be_made_in_parts_and_end_early_but_not_before_its_first():
    expected = weights(cosim.Sgd(batch_size=10, learning_rate=RATE))
    for found in (rule("plain"), rule("in_two_parts"), rule("with_anything")):
        for name, values in weights(found).items():
            np.testing.assert_allclose(values, expected[name], rtol=1e-4, atol=1e-6)
    early = weights(rule("stops_early"))
    assert all(not np.allclose(early[name], values, atol=1e-4) for name, values in expected.items())
    with pytest.raises(ConfigurationError, match=r"takes_none uses none of its mini-batches.*for x, y in"):
        weights(rule("takes_none"))


def test_a_function_that_asks_for_the_learning_rate_gets_that_of_the_rule():
    found = weights(rule("with_rate", learning_rate=0.3))
    expected = weights(cosim.Sgd(batch_size=10, learning_rate=0.3))
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-4, atol=1e-6)
    with pytest.raises(
        ConfigurationError, match=r"has no parameter learning_rate.*Give \S+ a parameter learning_rate"
    ):
        system(rule("plain", learning_rate=0.3))
