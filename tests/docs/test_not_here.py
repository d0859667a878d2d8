"""The page of what is not here: each program does what it says, by arithmetic."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from page_programs import loader
from scipy import integrate, stats

import cosim

PAGE = (Path(__file__).parents[2] / "docs" / "not-here.md").read_text(encoding="utf-8")


@pytest.fixture(name="program")
def fixture_program(tmp_path, monkeypatch):
    """Loads a program of the page as a module."""
    return loader(PAGE, tmp_path, monkeypatch, with_contract=True)


class Client(SimpleNamespace):
    """A client with a linear network and squared errors."""

    def __init__(self, num_steps: int = 3, **given) -> None:
        generator = torch.Generator().manual_seed(1)
        x, y = torch.randn(6, 2, generator=generator), torch.randn(6, 1, generator=generator)
        network = torch.nn.Linear(2, 1)
        with torch.no_grad():
            network.weight.fill_(0.5)
            network.bias.fill_(-0.25)
        usual = {"num_steps": num_steps, "network": network, "generator": generator, "state": {}}
        super().__init__(**usual | given, x=x, y=y)

    def samples(self):
        return self.x, self.y

    def batches(self, num_steps, batch_size):
        return [(self.x[:batch_size], self.y[:batch_size])] * num_steps

    @staticmethod
    def loss(outputs, targets):
        return (outputs - targets).square().mean()

    @property
    def initial(self):
        return {name: values.detach().clone() for name, values in self.network.named_parameters()}


# --- Differential privacy ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "noise", "num_steps", "library"),
    [
        (0.05, 1.1, 500, 6.955194670582129),
        (0.01, 1.0, 10_000, 6.7194021179393335),
        (0.2, 2.0, 90, 5.224930595217886),
    ],
)
def test_epsilon_is_that_of_a_librarys_accountant(program, rate, noise, num_steps, library):
    """The RDP accountant of dp-accounting 0.6.0, orders 2 to 64, Poisson sampling, delta 1e-5."""
    assert program("dp_sgd").epsilon(rate, noise, num_steps, 1e-5) == pytest.approx(library, rel=1e-12)


@pytest.mark.parametrize(("rate", "noise", "order"), [(0.05, 1.1, 6), (0.2, 2.0, 12), (0.5, 3.0, 3)])
def test_the_moment_is_that_of_quadrature(program, rate, noise, order):
    """E[((1 - q) + q exp((2 z - 1) / (2 s^2)))^a], z normal of deviation s, at one order alone."""

    def integrand(z):
        ratio = 1.0 - rate + rate * math.exp((2.0 * z - 1.0) / (2.0 * noise**2))
        return ratio**order * stats.norm.pdf(z, scale=noise)

    moment, _ = integrate.quad(integrand, -30.0 * noise, 30.0 * noise + order, limit=500)
    expected = (math.log(moment) - math.log(1e-5 * order)) / (order - 1) + math.log1p(-1.0 / order)
    found = program("dp_sgd").epsilon(rate, noise, 1, 1e-5, orders=(order,))
    assert found == pytest.approx(expected, rel=1e-7)


def test_without_noise_and_cuts_it_is_gradient_descent_on_all_samples(program):
    client, other = Client(), Client()
    rule = program("dp_sgd").DpSgd(batch_size=6, learning_rate=0.1, clip=1e9, noise=0.0)
    rule.train(client)
    for _ in range(3):
        loss = other.loss(other.network(other.x), other.y)
        for values, gradient in zip(
            other.network.parameters(),
            torch.autograd.grad(loss, list(other.network.parameters())),
            strict=True,
        ):
            values.data -= 0.1 * gradient
    for name, values in client.initial.items():
        assert values.numpy() == pytest.approx(other.initial[name].numpy(), rel=1e-5)


def test_no_sample_moves_the_model_further_than_its_cut(program):
    client = Client(num_steps=1)
    before = client.initial
    program("dp_sgd").DpSgd(batch_size=6, learning_rate=1.0, clip=1e-3, noise=0.0).train(client)
    moved = torch.cat([(client.initial[name] - values).flatten() for name, values in before.items()]).norm()
    assert 0.0 < float(moved) <= 1e-3 * (1.0 + 1e-5)


def test_the_noise_has_its_deviation(program):
    """Gradients cut to nothing: 3 values move by noise alone, over 500 clients."""
    rule = program("dp_sgd").DpSgd(batch_size=6, learning_rate=1.0, clip=1e-6, noise=2e6)
    moved = []
    for seed in range(500):
        client = Client(num_steps=1, generator=torch.Generator().manual_seed(seed))
        before = client.initial
        rule.train(client)
        moved += [float(v) for name in before for v in (client.initial[name] - before[name]).flatten()]
    assert np.std(moved) == pytest.approx(2.0 / 6.0, rel=0.06)


# --- Secure aggregation -----------------------------------------------------------------------------------


def test_masked_bits_are_those_of_each_message(program):
    """Of three clients, values of 4 bits: 46 sums are possible, so 6 bits a value."""
    masked = program("masked").Masked(num_clients=3, range_bits=4, key_bits=100, share_bits=10)
    keys, shares_to_others, handed_in = 2 * 100, 2 * 2 * 10, 3 * 10
    assert masked.bits(50) == keys + shares_to_others + handed_in + 50 * 6


# --- Robust means -----------------------------------------------------------------------------------------


def test_median_and_krum_by_hand(program):
    robust = program("robust")
    models = [
        {"w": torch.tensor([a, b])}
        for a, b in ((0.0, 0.0), (1.0, 5.0), (2.0, 1.0), (1.5, 1.0), (90.0, -90.0))
    ]
    assert robust.median(models)["w"].tolist() == [1.5, 1.0]
    rows = np.array([model["w"].numpy() for model in models])
    near = [np.sort(((rows - row) ** 2).sum(axis=1))[1:3].sum() for row in rows]
    assert robust.krum(models, num_liars=1) is models[int(np.argmin(near))]


def test_liars_send_the_opposite(program):
    flip = program("robust").SignFlip(num_liars=2)
    for client, sign in (("client-0001", -1.0), ("client-0002", 1.0)):
        sent = SimpleNamespace(client=client, change={"w": torch.tensor([1.0, -2.0])})
        flip.transmit(sent)
        assert sent.change["w"].tolist() == [sign, -2.0 * sign]


# --- Personal models and writers --------------------------------------------------------------------------


def test_ditto_is_two_loops(program):
    """The common model by SGD; the own one, from the start, pulled towards it."""
    client = Client()
    start = client.initial
    own = program("ditto").Ditto(batch_size=6, learning_rate=0.1, pull=0.5).train(client)
    x, y = client.x, client.y

    def loop(pull):
        weight, bias = start["weight"].clone(), start["bias"].clone()
        for _ in range(3):
            error = 2.0 * (x @ weight.T + bias - y) / len(x)
            steps = (
                error.T @ x + pull * (weight - start["weight"]),
                error.sum(0) + pull * (bias - start["bias"]),
            )
            weight, bias = weight - 0.1 * steps[0], bias - 0.1 * steps[1]
        return torch.cat([weight.flatten(), bias]).numpy()

    for found, pull in ((client.initial, 0.0), (own, 0.5)):
        row = torch.cat([found["weight"].flatten(), found["bias"]]).numpy()
        assert row == pytest.approx(loop(pull), rel=1e-4)


def test_writers_keep_their_samples(program, tmp_path):
    for part, num in (("train", 3), ("test", 1)):
        (tmp_path / part).mkdir()
        data = {user: {"x": [[float(n)] * 2] * num, "y": [n] * num} for n, user in enumerate("ab")}
        content = {"users": ["a", "b"], "num_samples": [num, num], "user_data": data}
        (tmp_path / part / "all_data_0.json").write_text(json.dumps(content))
    data = program("leaf").Leaf(folder=str(tmp_path))
    dataset = data.load(cosim.Simulation(1), None)
    assert dataset.train_owners.tolist() == [0, 0, 0, 1, 1, 1]
    assert dataset.train_x[:, 0].tolist() == [0.0] * 3 + [1.0] * 3
    assert (dataset.num_classes, dataset.test_owners.tolist()) == (2, [0, 1])
