"""Dropout from an update's key: torch's layers with other masks, the same whatever else is trained."""

import math
import random

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from equal import assert_same_bits
from scipy import stats
from sgd_loop import trained_by_sgd
from torch import nn

import cosim
from cosim import ConfigurationError, Simulation
from cosim.data import Synthetic
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.networks.probe.manner import manner_of
from cosim.own_code.dropout import dropping_layers, kept, keyed_dropout, mask_stream, masked
from cosim.protocols.combinations import Submodel, mean_of_models
from cosim.protocols.drawn_parts import draw_parts
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape
from scenarios.papers.rawhfl.recurring_rows import RecurringRows

DATA = loaded(Synthetic())


class Dense(nn.Sequential):
    """12 features, 30 units of which 0.4 drop out, 4 classes; the units can be cut."""

    unit_groups = {"units": (("0.weight", 0), ("0.bias", 0), ("3.weight", 1))}  # noqa: RUF012

    def __init__(self, num_units: int = 30) -> None:
        super().__init__(nn.Linear(12, num_units), nn.ReLU(), nn.Dropout(0.4), nn.Linear(num_units, 4))


class Convolutional(nn.Sequential):
    """12 features as 3 x 4: a convolution, normalisation, channels and units that drop out."""

    def __init__(self, side: tuple[int, int] = (3, 4), num_classes: int = 4) -> None:
        num_maps = 6 * (side[0] - 1) * (side[1] - 1)
        picture = nn.Unflatten(1, (1, *side))
        maps = (picture, nn.Conv2d(1, 6, 2), nn.ReLU(), nn.BatchNorm2d(6), nn.Dropout2d(0.3))
        units = (nn.Flatten(), nn.AlphaDropout(0.2), nn.Linear(num_maps, 9), nn.ReLU(), nn.Dropout(0.5))
        super().__init__(*maps, *units, nn.Linear(9, num_classes))


NETWORKS = (Dense, Convolutional)


def an_update(start: PendingModel, number: int, **changes) -> PendingUpdate:
    work = {"num_steps": 4, "training": Sgd(batch_size=10, learning_rate=0.1), "key": 1000 + number}
    samples = np.arange(40 * number, 40 * number + 40)
    return PendingUpdate(client=f"client-{number:02d}", model=start, samples=samples, **(work | changes))


# --- what a layer does with a mask ---


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (nn.Dropout, (5,)),
        (nn.Dropout, (6, 5)),
        (nn.Dropout1d, (6, 5, 4)),
        (nn.Dropout1d, (6, 5)),
        (nn.Dropout2d, (6, 5, 4, 3)),
        (nn.Dropout3d, (6, 5, 4, 3, 2)),
        (nn.Dropout3d, (6, 5, 4, 3)),
        (nn.AlphaDropout, (6, 5, 4)),
        (nn.FeatureAlphaDropout, (6, 5)),
        (nn.FeatureAlphaDropout, (6, 5, 4, 3)),
    ],
)
def test_a_layer_does_what_torchs_does_with_the_same_mask(kind, size, p, inplace):
    """Bit for bit, and so do gradients; torch draws a mask of the shape that `kept` gives."""
    layer, x = kind(p, inplace), torch.randn(size, generator=torch.Generator().manual_seed(1))
    shape = kept(layer, x.shape, mask_stream(1, "")).shape
    outputs, gradients, inputs = [], [], []
    with torch.random.fork_rng(devices=[]):
        for of_layer in (layer, lambda x: masked(layer, x, torch.empty(shape).bernoulli_(1 - p))):
            torch.manual_seed(7)
            leaf = x.clone().requires_grad_()
            inputs.append(leaf * 1.0)
            outputs.append(of_layer(inputs[-1]))
            gradients.append(*torch.autograd.grad(outputs[-1].square().sum(), leaf))
    assert torch.equal(*outputs)
    assert torch.equal(*gradients)
    assert torch.equal(*inputs)  # which in-place layers change
    assert p in (0.0, 1.0) or 0 < (gradients[0] == 0).sum() < x.numel()


def test_in_evaluation_mode_and_afterwards_a_layer_is_torchs():
    layer, x = nn.Dropout(0.5), torch.ones(100)
    with keyed_dropout(layer, key=1):
        assert layer.eval()(x) is x
        inside = layer.train()(input=x)
    assert 0 < (inside == 0).sum() < 100
    with torch.random.fork_rng(devices=[]):
        state = torch.get_rng_state()
        layer(x)
        assert not torch.equal(torch.get_rng_state(), state)


# --- masks ---

NUM_DRAWN = 200_000


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize(("kind", "of_channel"), [(nn.Dropout, ()), (nn.Dropout2d, (1, 3))])
def test_the_share_dropped_is_p_and_the_mean_stays(kind, of_channel, p):
    """99.9 % intervals; a p that is 0.01 larger must fail."""
    layer, num_channels = kind(p), NUM_DRAWN // 10
    with keyed_dropout(layer, key=5):
        outputs = layer(torch.ones(10, num_channels, *of_channel)).reshape(NUM_DRAWN, -1)
    assert torch.equal(outputs.amin(1), outputs.amax(1))  # whole channels
    num_dropped = int((outputs[:, 0] == 0).sum())
    least, most = stats.binom.interval(0.999, NUM_DRAWN, p)
    assert least <= num_dropped <= most
    least, most = stats.binom.interval(0.999, NUM_DRAWN, p + 0.01)
    assert not least <= num_dropped <= most
    half_width = stats.norm.isf(0.0005) * math.sqrt(p / (1 - p) / NUM_DRAWN)
    assert abs(outputs.double().mean().item() - 1.0) < half_width


def test_alpha_dropout_keeps_mean_and_variance():
    layer, x = nn.AlphaDropout(0.3), torch.randn(NUM_DRAWN, generator=torch.Generator().manual_seed(2))
    with keyed_dropout(layer, key=5):
        outputs = layer(x).double()
    half_width = stats.norm.isf(0.0005) / math.sqrt(NUM_DRAWN)
    assert abs(outputs.mean().item()) < half_width
    spread = float((outputs - outputs.mean()).square().std())
    assert abs(outputs.var().item() - 1.0) < half_width * spread


def test_masks_differ_by_seed_client_round_layer_and_call():
    names = [(1, "client-1", 3, 0), (2, "client-1", 3, 0), (1, "client-2", 3, 0), (1, "client-1", 4, 0)]
    keys = [Simulation(seed).key(client, "mini-batches", *round_) for seed, client, *round_ in names]
    masks = []
    for key in keys:
        network = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5))
        with keyed_dropout(network, key):
            masks += [layer(torch.ones(64)) for layer in (network[0], network[0], network[1])]
    assert len({tuple(mask.tolist()) for mask in masks}) == 3 * len(keys)
    with keyed_dropout(network, keys[-1]):
        assert torch.equal(network[0](torch.ones(64)), masks[-3])


def test_keys_that_share_their_last_32_bits_have_masks_of_their_own():
    streams = [mask_stream(key, "") for key in (7, 7 + 2**32)]
    assert not np.array_equal(streams[0].random(64), streams[1].random(64))


def test_masks_and_mini_batches_have_streams_of_their_own():
    of_batches = np.random.Generator(np.random.Philox(key=7))
    assert not np.intersect1d(of_batches.random(1000), mask_stream(7, "2").random(1000)).size


# --- training ---


class WithMasks(nn.Module):
    """A layer that multiplies its inputs by masks that are given."""

    def __init__(self, masks: list[torch.Tensor], p: float) -> None:
        super().__init__()
        self.masks, self.p = masks, p

    def forward(self, x):
        return x * self.masks.pop(0) / (1 - self.p)


def test_training_is_a_plain_loop_with_the_same_masks():
    """Also of a part, whose masks are as wide as it is."""
    learner = Learner(Dense(), DATA, num_workers=2)
    model = learner.initial_model(key=3)
    (part, _) = draw_parts(learner.shape.num_units, {"units": (20, 10)}, np.random.default_rng(1))
    for start, num_units in ((model, 30), (Submodel(model, part), 20)):
        update = an_update(start, 1, num_steps=6)
        draws = mask_stream(update.key, "2")
        masks = [torch.tensor(draws.random((10, num_units), dtype=np.float32) >= 0.4) for _ in range(6)]
        network = Dense(num_units)
        network.load_state_dict({n: torch.tensor(v) for n, v in learner.weights(start).items()})
        network[2] = WithMasks(masks, 0.4)
        trained_by_sgd(network, update, DATA.train_x, DATA.train_y)
        found = learner.weights(mean([update]))
        for name, p in network.named_parameters():
            np.testing.assert_allclose(found[name], p.detach().numpy(), rtol=1e-4, atol=2e-6, err_msg=name)


def two_rounds(network: nn.Module, num_workers: int) -> dict[str, np.ndarray]:
    learner = Learner(network, DATA, num_workers=num_workers)
    model = learner.initial_model(key=3)
    for round_ in range(2):
        model = mean([an_update(model, number, key=100 * round_ + number) for number in range(9)])
    return learner.weights(model)


@pytest.mark.parametrize("kind", NETWORKS)
def test_same_bits_with_any_number_of_workers(kind):
    expected = two_rounds(kind(), 1)
    for num_workers in (1, 2, 4):
        assert_same_bits(two_rounds(kind(), num_workers), expected)


@pytest.mark.parametrize("kind", NETWORKS)
def test_an_update_is_the_same_alone_and_among_others(kind):
    found = []
    for others in ((), (0, 2), range(4, 12)):
        learner = Learner(kind(), DATA, num_workers=2)
        start = learner.initial_model(key=3)
        own = mean([an_update(start, 3)])
        learner.weights(mean_of_models([own, *(mean([an_update(start, other)]) for other in others)]))
        found.append(learner.weights(own))
    assert_same_bits(found[0], found[1])
    assert_same_bits(found[0], found[2])


@pytest.mark.parametrize("kind", NETWORKS)
def test_no_global_generator_moves(kind):
    def states():
        return torch.get_rng_state().tolist(), str(np.random.get_state()[1:]), random.getstate()  # noqa: NPY002

    network = kind()
    before = states()
    learner = Learner(network, DATA, num_workers=2)
    learner.evaluate(mean([an_update(learner.initial_model(key=3), number) for number in range(3)]))
    assert states() == before


def test_an_evaluation_drops_nothing():
    learner = Learner(Convolutional(), DATA, num_workers=2)
    model = mean([an_update(learner.initial_model(key=3), number) for number in range(3)])
    network = Convolutional()
    arrays = {name: torch.tensor(values) for name, values in learner.weights(model).items()}
    network.load_state_dict(arrays, strict=False)
    with torch.no_grad():
        outputs = network.eval()(torch.tensor(DATA.test_x)).double()
    expected = nn.functional.cross_entropy(outputs, torch.tensor(DATA.test_y)).item()
    assert learner.evaluate(model)["loss_nats"] == pytest.approx(expected, rel=1e-6)


def test_a_run_gives_the_same_tables_with_any_number_of_workers():
    system = worlds.digits(model="convolutional")
    runs = [
        cosim.run(system, Convolutional(side=(8, 8), num_classes=10), num_workers=num_workers)
        for num_workers in (1, 4)
    ]
    for table in ("spans", "transfers", "rounds", "evaluations"):
        assert getattr(runs[0], table).equals(getattr(runs[1], table))
    other = cosim.run(cosim.evolve(system, seed=2), Convolutional(side=(8, 8), num_classes=10), num_workers=1)
    assert not other.evaluations.equals(runs[0].evaluations)


# --- which networks drop, and which may not ---


class KeptInEvaluation(nn.Module):
    """A dropout layer that training mode does not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.backbone = nn.Linear(12, 4), nn.Sequential(nn.Dropout(0.1))

    def train(self, mode: bool = True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x_BD):
        return self.head(self.backbone(x_BD))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_only_networks_that_drop_train_client_by_client(device):
    for network in (KeptInEvaluation(), nn.Sequential(nn.Linear(12, 4), nn.Dropout(0.0))):
        assert dropping_layers(network) == ()
        assert manner_of(
            network, NetworkShape.of(network), DATA, cosim.tasks.Classification(), device
        ).together
    assert dropping_layers(Dense().eval()) == ("2",)
    network = Dense().eval()
    assert not manner_of(
        network, NetworkShape.of(network), DATA, cosim.tasks.Classification(), device
    ).together


def a_table(**changes) -> Dataset:
    x = np.random.default_rng(1).standard_normal((20, 6), np.float32)
    y = np.arange(20) % 2
    return Dataset(
        **({"name": "toy", "train_x": x, "train_y": y, "test_x": x, "test_y": y, "num_classes": 2} | changes)
    )


class InTwoParts(nn.Module):
    """A server's part with dropout, and a client's."""

    num_global_features, num_central_outputs = 2, 3

    def __init__(self) -> None:
        super().__init__()
        self.central = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.2))
        self.local = nn.Linear(7, 1)

    def forward(self, x_BD):
        return self.local(torch.cat((self.central(x_BD[..., :2]), x_BD[..., 2:]), -1))


def test_where_a_mask_would_be_everybodys_dropout_is_refused():
    rows, two_classes = (
        a_table(train_y=None, batching=RecurringRows),
        nn.Sequential(nn.Linear(6, 2), nn.Dropout(0.2)),
    )
    with pytest.raises(ConfigurationError, match=r"dropout in 1: a feature row of 'toy' .* Use p = 0"):
        Learner(two_classes, rows)
    y = np.ones(20, np.float32)
    prices = a_table(train_y=y, test_y=y, num_classes=None, num_global_features=2)
    with pytest.raises(ConfigurationError, match=r"dropout in central\.1: vertical .* Use p = 0"):
        Learner(InTwoParts(), prices)
    two_classes[1].p = 0.0
    Learner(two_classes, rows)
