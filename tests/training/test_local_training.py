"""Rules of one's own, client by client: equal to a plain torch loop, bit for bit, whatever the workers."""

import random

import attrs
import numpy as np
import pytest
import torch
from data_sets import loaded
from torch import nn

import models
from cosim.configuration import ConfigurationError, knob, not_negative, part
from cosim.data.synthetic import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.workers import one_torch_thread
from cosim.protocols.combinations import AssembledModel, Submodel
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.training.port import LocalTraining
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate

DATA = loaded(Synthetic())
NUM_CLIENTS = 5


@part
class FedProx(LocalTraining):
    """SGD that is held back to the start. [Li et al., "Federated optimization in heterogeneous networks"]"""

    mu: float = knob(not_negative, default=0.5)

    def train(self, client):
        """Rule as a user would write it."""
        optimizer = torch.optim.SGD(client.network.parameters(), lr=self.learning_rate)
        for x, y in client.batches(client.num_steps, self.batch_size):
            pull = sum((p - client.initial[n]).square().sum() for n, p in client.network.named_parameters())
            optimizer.zero_grad()
            (client.loss(client.network(x), y) + 0.5 * self.mu * pull).backward()
            optimizer.step()


class Noisy(LocalTraining):
    """A subclass without fields."""

    def train(self, client):
        """Draws from the client's generator."""
        with torch.no_grad():
            for values in client.network.parameters():
                values.add_(torch.randn(values.shape, generator=client.generator))


class Undecided(LocalTraining):
    """Neither a function nor a program."""


class Dropping(nn.Sequential):
    """A network with dropout."""

    def __init__(self):
        super().__init__(nn.Linear(12, 9), nn.Dropout(0.4), nn.ReLU(), nn.Linear(9, 4))


class Normalised(nn.Sequential):
    """A network with running statistics."""

    def __init__(self):
        super().__init__(nn.Linear(12, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 4))


def updates(start: PendingModel, training: LocalTraining) -> list[PendingUpdate]:
    return [
        PendingUpdate(
            client=f"client-{number}",
            model=start,
            samples=np.arange(30 * number, 30 * number + 25),
            num_steps=2 + number,
            training=training,
            key=100 + number,
        )
        for number in range(NUM_CLIENTS)
    ]


def trained(network: nn.Module, training: LocalTraining, num_workers: int = 2) -> dict[str, np.ndarray]:
    """Two rounds of all clients."""
    learner = Learner(network, DATA, num_workers=num_workers)
    model = learner.initial_model(key=3)
    for _ in range(2):
        model = mean(updates(model, training))
    return learner.weights(model)


def by_hand(network: nn.Module, training: FedProx) -> dict[str, np.ndarray]:
    """The same by a loop over clients, on one thread of torch, as the learner's are."""
    with one_torch_thread():
        return _by_hand(network, training)


def _by_hand(network: nn.Module, training: FedProx) -> dict[str, np.ndarray]:
    learner = Learner(network, DATA, num_workers=1)
    model = learner.weights(learner.initial_model(key=3))
    for _ in range(2):
        total = {name: torch.zeros(values.shape, dtype=torch.float64) for name, values in model.items()}
        for update in updates(learner.initial_model(key=3), training):
            network.load_state_dict(
                {name: torch.tensor(values) for name, values in model.items()}, strict=False
            )
            start = {name: p.detach().clone() for name, p in network.named_parameters()}
            optimizer = torch.optim.SGD(network.parameters(), lr=training.learning_rate)
            for batch in mini_batches(update.samples, update.num_steps, training.batch_size, update.key):
                x, y = torch.tensor(DATA.train_x[batch]), torch.tensor(DATA.train_y[batch])
                pull = sum((p - start[name]).square().sum() for name, p in network.named_parameters())
                optimizer.zero_grad()
                (nn.functional.cross_entropy(network(x), y) + 0.5 * training.mu * pull).backward()
                optimizer.step()
            tensors = network.state_dict()
            for name, values in total.items():
                values += tensors[name].double() * (1 / NUM_CLIENTS)
        model = {name: values.float().numpy() for name, values in total.items()}
    return model


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.mark.parametrize("make", [lambda: models.build("mlp-12-9-4"), Normalised])
def test_a_function_is_trained_as_in_a_plain_loop(make):
    torch.manual_seed(1)
    rule = FedProx(batch_size=8, learning_rate=0.2)
    found = trained(make(), rule)
    assert_same(found, by_hand(make().train(), rule))
    assert any((found[name] != trained(make(), attrs.evolve(rule, mu=0.0))[name]).any() for name in found)


def test_without_its_own_term_it_is_plain_sgd_also_with_dropout():
    plain = trained(Dropping(), Sgd(batch_size=8, learning_rate=0.2))
    np.testing.assert_equal(trained(Dropping(), FedProx(batch_size=8, learning_rate=0.2, mu=0.0)), plain)


@pytest.mark.parametrize("make", [lambda: models.build("mlp-12-9-4"), Normalised, Dropping])
@pytest.mark.parametrize("rule", [FedProx(batch_size=8), Noisy(batch_size=8)], ids=["FedProx", "Noisy"])
def test_results_do_not_depend_on_the_number_of_workers(make, rule):
    one = trained(make(), rule, num_workers=1)
    for num_workers in (2, 4):
        assert_same(trained(make(), rule, num_workers), one)


def test_parts_of_a_network_train_as_networks_of_their_size():
    learner = Learner(models.build("mlp-12-9-4"), DATA, num_workers=2)
    model = learner.initial_model(key=3)
    parts = draw_parts(
        learner.shape.num_units, even_counts(learner.shape.num_units, 2), np.random.default_rng(1)
    )
    ends = {}
    for rule in (Sgd(batch_size=8), FedProx(batch_size=8, mu=0.0)):
        cells = [mean(updates(Submodel(model, part), rule)) for part in parts]
        ends[type(rule)] = learner.weights(AssembledModel(parts, cells))
    for name, values in ends[Sgd].items():
        np.testing.assert_allclose(ends[FedProx][name], values, rtol=1e-4, atol=1e-6)


def test_a_function_of_a_subclass_counts_before_the_program_of_its_base():
    drawn = trained(models.build("mlp-12-9-4"), Noisy())
    plain = trained(models.build("mlp-12-9-4"), Sgd())
    assert all((drawn[name] != plain[name]).all() for name in drawn)


def test_start_is_a_copy_and_the_network_is_ones_own():
    class Careless(LocalTraining):
        def train(self, client):
            with torch.no_grad():
                for name, values in client.network.named_parameters():
                    client.initial[name].zero_()
                    values.fill_(float(client.name[-1]))
            assert not hasattr(client.network, "more"), "changed by another client"
            client.network.add_module("more", nn.Identity())

    learner = Learner(models.build("mlp-12-9-4"), DATA, num_workers=2)
    start = learner.initial_model(key=3)
    before = learner.weights(start)
    asked = updates(start, Careless())
    ends = [learner.weights(mean([update])) for update in asked]
    assert [set(np.unique(end["layers.0.weight"])) for end in ends] == [
        {float(n)} for n in range(NUM_CLIENTS)
    ]
    assert_same(learner.weights(start), before)


@pytest.mark.parametrize(
    ("draw", "generator"),
    [
        (lambda: torch.rand(1), "torch's global generator"),
        (lambda: np.random.rand(), "numpy's global"),  # noqa: NPY002
        (lambda: random.randrange(3), "Python's global"),
    ],
)
def test_draws_that_threads_would_share_are_refused(draw, generator):
    class Drawing(LocalTraining):
        def train(self, client):
            draw()

    with pytest.raises(ConfigurationError, match=f"Drawing.train draws from {generator}.*client.generator"):
        trained(models.build("mlp-12-9-4"), Drawing(), num_workers=1)


def test_a_generator_without_a_seed_is_found_and_one_of_a_key_is_not():
    def moved(client, source) -> None:
        noise = np.random.Generator(source).standard_normal()
        with torch.no_grad():
            for values in client.network.parameters():
                values += noise

    class Seeded(LocalTraining):
        def train(self, client):
            moved(client, np.random.Philox(key=3))

    class Drawing(LocalTraining):
        def train(self, client):
            moved(client, np.random.PCG64())

    trained(models.build("mlp-12-9-4"), Seeded(), num_workers=1)
    with pytest.raises(ConfigurationError, match=r"Drawing.train gives another .* a seed.*generator"):
        trained(models.build("mlp-12-9-4"), Drawing(), num_workers=1)


def test_a_rule_that_trains_nothing_is_refused():
    learner = Learner(models.build("mlp-12-9-4"), DATA)
    for rule in (LocalTraining, Undecided):
        with pytest.raises(ConfigurationError, match=r"gives none of the forms.*Write train or program"):
            rule()
    for rule in (Sgd(), FedProx(), Noisy()):
        rule.check(learner)
