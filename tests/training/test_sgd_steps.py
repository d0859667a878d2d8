"""Local training against a loop of nn.Module and torch.optim.SGD over clients."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import models
from cosim.training.programs.descents import SgdStep
from cosim.training.programs.relu_layers import relu_layers_of, train_relu_layers
from cosim.training.programs.sgd_steps import mini_batches, train_by_autograd

pytestmark = pytest.mark.quick

X_ND = torch.randn(200, 12, generator=torch.Generator().manual_seed(1))
Y_N = torch.randint(0, 4, (200,), generator=torch.Generator().manual_seed(2))


def trained_alone(
    network: nn.Module, batches_SB: torch.Tensor, learning_rate: float
) -> dict[str, torch.Tensor]:
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate)
    for batch in batches_SB:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(X_ND[batch]), Y_N[batch]).backward()
        optimizer.step()
    return {name: p.detach() for name, p in network.named_parameters()}


@pytest.mark.parametrize("program", ["autograd", "relu_layers"])
@pytest.mark.parametrize("family", ["relu", "mlp"])
@pytest.mark.parametrize("sizes", ["12-4", "12-9-4", "12-9-8-4", "12-3-7-5-4"])
def test_a_cohort_trains_as_its_clients_alone(program: str, family: str, sizes: str):
    networks = [models.build(f"{family}-{sizes}") for _ in range(3)]
    for key, network in enumerate(networks):
        generator = torch.Generator().manual_seed(key)
        for p in network.parameters():
            p.data = 0.5 * torch.randn(p.shape, generator=generator)
    names = [n for n, _ in networks[0].named_parameters()]
    weights_C = {n: torch.stack([net.get_parameter(n).detach() for net in networks]) for n in names}
    batches = [mini_batches(np.arange(50 * c, 50 * c + 30), 15, 8, key=c) for c in range(3)]
    batches_CSB = torch.from_numpy(np.stack(batches))
    with torch.no_grad():
        step, samples = SgdStep(weights_C, {}, (), rate=0.2), (X_ND, Y_N, batches_CSB)
        if program == "autograd":
            network, loss = models.build(f"{family}-{sizes}"), nn.functional.cross_entropy
            train_by_autograd(network, weights_C, {}, *samples, step, loss)
        else:
            layers = relu_layers_of(networks[0].relu_layers, weights_C)
            train_relu_layers(layers, *samples, step)
    for c, network in enumerate(networks):
        alone = trained_alone(network, batches_CSB[c], 0.2)
        for name in names:
            torch.testing.assert_close(weights_C[name][c], alone[name], rtol=1e-4, atol=1e-5)


@given(
    num_samples=st.integers(1, 40),
    num_steps=st.integers(1, 12),
    batch_size=st.integers(1, 30),
    key=st.integers(0, 99),
)
def test_mini_batches_are_epochs_back_to_back(num_samples: int, num_steps: int, batch_size: int, key: int):
    samples = np.arange(num_samples) * 3 + 5
    batches_SB = mini_batches(samples, num_steps, batch_size, key)
    assert batches_SB.shape == (num_steps, batch_size)
    drawn = batches_SB.ravel()
    for begin in range(0, len(drawn), num_samples):
        epoch = drawn[begin : begin + num_samples]
        assert len(set(epoch.tolist())) == len(epoch)
        assert set(epoch.tolist()) <= set(samples.tolist())


@pytest.mark.parametrize(("num_samples", "num_steps"), [(1, 3), (7, 40), (100, 50), (300, 2), (1000, 60)])
def test_mini_batches_are_permutations_one_after_the_other(num_samples: int, num_steps: int):
    samples = np.random.default_rng(1).integers(0, 2**40, num_samples)
    rng = np.random.Generator(np.random.Philox(key=num_steps))
    drawn = np.concatenate([rng.permutation(samples) for _ in range(20 * num_steps // num_samples + 1)])
    expected = drawn[: 20 * num_steps].reshape(num_steps, 20)
    assert np.array_equal(mini_batches(samples, num_steps, 20, num_steps), expected)


def test_mini_batches_follow_their_key_and_reshuffle():
    samples = np.arange(40)
    first, again, other = (mini_batches(samples, 8, 10, key) for key in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[:4], first[4:])
    assert not np.array_equal(first[:4].ravel(), samples)
