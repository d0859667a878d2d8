"""Running statistics are part of a model: they move, travel, are cut and averaged with it."""

import copy

import attrs
import numpy as np
import pytest
import torch
from data_sets import loaded
from hypothesis import given, settings
from hypothesis import strategies as st
from sgd_loop import trained_by_sgd
from torch import nn

from cosim import ConfigurationError, Sgd
from cosim.data import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.networks.first_values import initial_weights
from cosim.protocols.combinations import Submodel
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.values.combinations import NoisyMean, mean
from cosim.values.pending import PendingUpdate
from cosim.values.submodels import NetworkShape
from cosim.values.weights import assembled, cut
from scenarios.papers.rawhfl.recurring_rows import RecurringRows

DATA = loaded(Synthetic())


class Normalised(nn.Module):
    """12 features as 3 x 2 x 2: convolution, normalisation, ReLU, convolution, normalisation, dense."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, 5, 1), nn.BatchNorm2d(5)
        self.fc = nn.Linear(20, 4)
        inner = ("bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var")
        self.unit_groups = {
            "channels": (
                ("conv1.weight", 0),
                ("conv1.bias", 0),
                *((name, 0) for name in inner),
                ("conv2.weight", 1),
            )
        }

    def forward(self, x_BD):
        maps = torch.relu(self.bn1(self.conv1(x_BD.view(-1, 3, 2, 2))))
        return self.fc(torch.relu(self.bn2(self.conv2(maps))).flatten(1))


def an_update(start, number, num_steps=4):
    return PendingUpdate(
        client=f"client-{number}",
        model=start,
        samples=np.arange(40 * number, 40 * number + 40),
        num_steps=num_steps,
        training=Sgd(batch_size=10, learning_rate=0.1),
        key=number,
    )


def by_hand(start: dict, update: PendingUpdate, width: int = 6) -> dict[str, torch.Tensor]:
    """The same training as a plain loop."""
    network = Normalised(width).train()
    network.load_state_dict({name: torch.tensor(values) for name, values in start.items()}, strict=False)
    trained_by_sgd(network, update, DATA.train_x, DATA.train_y)
    return {name: values for name, values in network.state_dict().items() if values.is_floating_point()}


@pytest.mark.parametrize("num_clients", [1, 5])
def test_a_mean_of_updates_is_the_mean_of_what_plain_loops_train(num_clients):
    """Also of networks that are trained together, as a dense one with normalisation is."""
    learner = Learner(Normalised(), DATA, num_workers=2)
    learner._resolver.working_set = learner._resolver.working_set._replace(num_clients=num_clients)
    model = learner.initial_model(key=1)
    updates = [an_update(model, number) for number in range(4)]
    start = learner.weights(model)
    found = learner.weights(mean(updates))
    trained = [by_hand(start, update) for update in updates]
    assert set(found) == set(trained[0])
    for name, values in found.items():
        wanted = torch.stack([state[name] for state in trained]).mean(0)
        np.testing.assert_allclose(values, wanted.numpy(), rtol=0, atol=2e-6)
    assert not np.allclose(found["bn1.running_mean"], 0.0, atol=1e-3)


def test_a_part_trains_as_the_smaller_network():
    learner = Learner(Normalised(), DATA, num_workers=1)
    parts = draw_parts(learner.shape.num_units, {"channels": (4, 2)}, np.random.default_rng(2))
    model = mean([an_update(learner.initial_model(key=1), 7)])
    for part, width in zip(parts, (4, 2), strict=True):
        update = an_update(Submodel(model, part), 3)
        start = learner.weights(update.model)
        assert {name: values.shape for name, values in start.items()} == learner.shape.cut(part)
        found, wanted = learner.weights(mean([update])), by_hand(start, update, width)
        for name, values in found.items():
            np.testing.assert_allclose(values, wanted[name].numpy(), rtol=0, atol=2e-6)


def test_a_model_is_evaluated_with_its_running_statistics():
    learner = Learner(Normalised(), DATA, num_workers=2)
    model = mean([an_update(learner.initial_model(key=1), number) for number in range(3)])
    network = Normalised().eval()
    values = {name: torch.tensor(values) for name, values in learner.weights(model).items()}
    network.load_state_dict(values, strict=False)
    with torch.no_grad():
        right = network(torch.tensor(DATA.test_x)).argmax(1).numpy() == DATA.test_y
    before = learner.weights(model)
    assert learner.evaluate(model)["accuracy"] == right.mean()
    for name, values in learner.weights(model).items():
        np.testing.assert_array_equal(values, before[name])


@given(seed=st.integers(0, 2**32), num_cells=st.integers(1, 6))
@settings(max_examples=30)
def test_disjoint_parts_add_up_to_the_whole_model(seed, num_cells):
    """Cut tensors come back to the bit; whole ones are means of equal values."""
    network = Normalised()
    shape = NetworkShape.of(network)
    weights = initial_weights(network, seed)
    rng = torch.Generator().manual_seed(seed)
    weights = {name: torch.rand(values.shape, generator=rng) for name, values in weights.items()}
    parts = draw_parts(shape.num_units, even_counts(shape.num_units, num_cells), np.random.default_rng(seed))
    again = assembled(shape, parts, [cut(weights, shape, part) for part in parts])
    assert list(again) == list(weights)
    for name, values in weights.items():
        torch.testing.assert_close(again[name], values, rtol=1e-7, atol=0)
    num_cut = shape.num_cut_values("channels")
    assert sum(map(shape.num_values, parts)) == num_cut + num_cells * (shape.num_values() - num_cut)
    assert shape.num_values() - shape.num_parameters() == 2 * (6 + 5)
    assert num_cut - shape.num_cut_parameters("channels") == 2 * 6


def test_a_variance_below_zero_counts_as_zero():
    """The noise of a sum over the air may make it one."""
    learner = Learner(Normalised(), DATA, num_workers=1)
    update, deviation, key = an_update(learner.initial_model(key=1), 1), 2.0, 3
    trained = learner.weights(mean([update]))
    found = learner.weights(NoisyMean([update], lambda: deviation, key))
    generator = torch.Generator().manual_seed(key)
    for name, values in trained.items():
        noise = torch.randn(values.shape, generator=generator, dtype=torch.float64).numpy()
        noisy = values + deviation * noise
        if name.endswith("running_var"):
            assert (noisy < 0.0).any()
            noisy = np.maximum(noisy, 0.0)
        np.testing.assert_allclose(found[name], noisy, rtol=1e-5, atol=1e-6)


def test_statistics_that_nothing_moves_are_refused():
    """A client without labels of its own trains on distinct rows, which are no batches."""
    with pytest.raises(
        ConfigurationError, match=r"changes bn1\.running_mean with every batch, but clients of"
    ):
        Learner(Normalised(), attrs.evolve(DATA, train_y=None, batching=RecurringRows))


@pytest.mark.parametrize("num_clients", [1, 5])
def test_a_regression_moves_its_statistics_as_a_plain_loop(num_clients):
    """Batch normalisation, and the squared error."""

    def network():
        return nn.Sequential(nn.BatchNorm1d(12), nn.Linear(12, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))

    truth = {name: getattr(DATA, f"{name}_x")[:, :1] * 2.0 - 1.0 for name in ("train", "test")}
    data = attrs.evolve(DATA, train_y=truth["train"], test_y=truth["test"], num_classes=None)
    learner = Learner(network(), data, num_workers=2)
    learner._resolver.working_set = learner._resolver.working_set._replace(num_clients=num_clients)
    model = learner.initial_model(key=1)
    updates, trained = [an_update(model, number) for number in range(3)], []
    for update in updates:
        own = network().train()
        start = {name: torch.tensor(values) for name, values in learner.weights(model).items()}
        own.load_state_dict(start, strict=False)
        trained_by_sgd(own, update, data.train_x, data.train_y, nn.functional.mse_loss)
        trained.append(own.state_dict())
    for name, values in learner.weights(mean(updates)).items():
        wanted = torch.stack([state[name] for state in trained]).mean(0)
        np.testing.assert_allclose(values, wanted.numpy(), rtol=0, atol=2e-6)


class Frozen(nn.Module):
    """A frozen dense layer under a trained one."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.head = nn.Linear(12, 8), nn.Linear(8, 4)
        self.base.requires_grad_(False)

    def forward(self, x_BD):
        return self.head(torch.relu(self.base(x_BD)))


def test_frozen_weights_are_shared_and_never_travel():
    network = Frozen()
    kept = copy.deepcopy(network.base.state_dict())
    learner = Learner(network, DATA, num_workers=2)
    assert set(learner.shape.tensors) == {"head.weight", "head.bias"}
    model = learner.initial_model(key=1)
    start = learner.weights(model)
    updates = [an_update(model, number) for number in range(3)]
    found = learner.weights(mean(updates))
    assert set(found) == {"head.weight", "head.bias"}
    hidden = np.maximum(DATA.train_x @ kept["weight"].numpy().T + kept["bias"].numpy(), 0.0)
    for name in found:
        trained = []
        for update in updates:
            head = nn.Linear(8, 4)
            head.load_state_dict({n: torch.tensor(start[f"head.{n}"]) for n in ("weight", "bias")})
            trained_by_sgd(head, update, hidden, DATA.train_y)
            trained.append(head.state_dict()[name.removeprefix("head.")])
        np.testing.assert_allclose(found[name], torch.stack(trained).mean(0), rtol=0, atol=2e-6)
    for name, values in network.base.state_dict().items():
        assert torch.equal(values, kept[name])
    assert learner._own_networks.of_this_thread().base.weight.data_ptr() == network.base.weight.data_ptr()


class PartlyFrozen(nn.Module):
    """Layers whose weights are frozen and whose biases are trained."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.unused = nn.Linear(12, 8), nn.Linear(8, 4), nn.Linear(3, 3)
        self.a.weight.requires_grad_(False)
        self.b.weight.requires_grad_(False)

    def forward(self, x_BD):
        return self.b(torch.relu(self.a(x_BD)))


def test_drawing_initial_weights_leaves_frozen_ones_of_the_same_layer_alone():
    """And a trained layer that the outputs do not depend on stays as it is."""
    network = PartlyFrozen()
    kept = network.a.weight.detach().clone()
    learner = Learner(network, DATA, num_workers=1)
    model = learner.initial_model(key=3)
    first = learner.evaluate(model)
    start = learner.weights(model)
    assert set(start) == {"a.bias", "b.bias", "unused.weight", "unused.bias"}
    learner.weights(learner.initial_model(key=4))
    assert torch.equal(network.a.weight, kept)
    assert learner.evaluate(model) == first
    found = learner.weights(mean([an_update(model, 1)]))
    np.testing.assert_array_equal(found["unused.weight"], start["unused.weight"])
    assert not np.array_equal(found["a.bias"], start["a.bias"])
