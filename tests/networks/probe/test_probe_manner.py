"""Clients are trained together if a trial says so; either way they train as a plain loop of torch does."""

import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import cosim
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.testing import small_system
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

NUM_CLIENTS, NUM_STEPS, BATCH_SIZE = 6, 3, 4
rng = np.random.default_rng(1)
X = rng.standard_normal((60, 6), np.float32)
ROWS = Dataset.of("rows", (X[:48], np.arange(48) % 3), (X[48:], np.arange(12) % 3))
T = rng.integers(0, 20, (60, 5))
TOKENS = Dataset.of("tokens", (T[:48], np.arange(48) % 3), (T[48:], np.arange(12) % 3))
SAMPLES = [np.arange(client, 48, NUM_CLIENTS) for client in range(NUM_CLIENTS)]


class Of(nn.Module):
    """Two layers, and a function between them."""

    def __init__(self, between) -> None:
        super().__init__()
        self.first, self.last, self.between = nn.Linear(6, 8), nn.Linear(8, 3), between

    def forward(self, x_BD):
        return self.last(self.between(self.first(x_BD)))


class OfTokens(nn.Module):
    """A table, and what is made of its rows."""

    def __init__(self, table, pool=lambda z: z.mean(1)) -> None:
        super().__init__()
        self.table, self.last, self.pool = table, nn.Linear(4, 3), pool

    def forward(self, x_BT):
        return self.last(self.pool(self.table(x_BT)))


class Packed(nn.Module):
    """Texts of several lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.rnn, self.last = nn.Embedding(20, 4), nn.GRU(4, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x_BT):
        lengths_B = 1 + x_BT[:, 0] % 5
        z = nn.utils.rnn.pack_padded_sequence(self.table(x_BT), lengths_B, True, enforce_sorted=False)
        return self.last(self.rnn(z)[1][0])


class InPlace(nn.Linear):
    """Its weight is made short before every pass."""

    def forward(self, x_BD):
        with torch.no_grad():
            self.weight.div_(self.weight.norm(dim=1, keepdim=True))
        return super().forward(x_BD)


def clipped(x):
    if x.max() > 0.5:
        return x.clamp(-0.5, 0.5)
    return x


def halved(x):
    while x.abs().max() > 1.0:
        x = x / 2.0
    return x


def masked(x):
    found = torch.zeros_like(x)
    found[x > 0] = x[x > 0]
    return found


def of_nonzero(x):
    return x * (1.0 + 0.1 * len(x.nonzero()))


def of_unique(x):
    return x / len(torch.unique((10.0 * x.detach()).round()))


def largest_first(x):
    """A mixture of two experts: the larger half of the features."""
    top = x.topk(4, dim=-1)
    return torch.zeros_like(x).scatter(-1, top.indices, top.values)


TOGETHER = {
    "tanh": (lambda: Of(torch.tanh), ROWS),
    "top of features": (lambda: Of(largest_first), ROWS),
    "layer norm": (lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 3)), ROWS),
    "group norm": (lambda: nn.Sequential(nn.Linear(6, 8), nn.GroupNorm(2, 8), nn.Linear(8, 3)), ROWS),
    "batch norm": (lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)), ROWS),
    "weights made short": (lambda: InPlace(6, 3), ROWS),
    "embedding": (lambda: OfTokens(nn.Embedding(20, 4)), TOKENS),
    "padding": (lambda: OfTokens(nn.Embedding(20, 4, padding_idx=0)), TOKENS),
    "GRU": (lambda: OfTokens(nn.Embedding(20, 4), Recurrent(nn.GRU)), TOKENS),
}


class Recurrent(nn.Module):
    """The last state."""

    def __init__(self, kind) -> None:
        super().__init__()
        self.rnn = kind(4, 4, batch_first=True)

    def forward(self, z_BTE):
        return self.rnn(z_BTE)[0][:, -1]


class Checkpointed(nn.Module):
    """Computes its hidden layer once more on the way back."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x_BD):
        return self.last(checkpoint(lambda x: torch.tanh(self.first(x)), x_BD, use_reentrant=False))


class Straight(torch.autograd.Function):
    """The sign, with the gradient of nothing."""

    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def hooked():
    network = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    network[1].register_full_backward_hook(lambda layer, before, after: tuple(g / 2 for g in before))
    return network


VALUES = "looks at values"
ALONE = {
    "an if": (lambda: Of(clipped), ROWS, VALUES),
    "a while": (lambda: Of(halved), ROWS, VALUES),
    "item": (lambda: Of(lambda x: x / x.detach().abs().max().item()), ROWS, VALUES),
    "a mask": (lambda: Of(masked), ROWS, ""),
    "nonzero": (lambda: Of(of_nonzero), ROWS, ""),
    "unique": (lambda: Of(of_unique), ROWS, ""),
    "numpy": (lambda: Of(lambda x: x * float(x.detach().numpy().std())), ROWS, ""),
    "a list": (lambda: Of(lambda x: x / (1.0 + sum(x.detach().abs().sum(1).tolist()))), ROWS, ""),
    "a checkpoint": (Checkpointed, ROWS, ""),
    "a gradient of its own": (lambda: Of(Straight.apply), ROWS, ""),
    "a hook on the way back": (hooked, ROWS, ""),
    "packed": (Packed, TOKENS, ""),
    "sparse": (lambda: OfTokens(nn.Embedding(20, 4, sparse=True)), TOKENS, ""),
    "a bag": (lambda: OfTokens(nn.EmbeddingBag(20, 4), lambda z: z), TOKENS, "in a loop"),
    "a sparse bag": (lambda: OfTokens(nn.EmbeddingBag(20, 4, sparse=True), lambda z: z), TOKENS, ""),
    "rows made short": (lambda: OfTokens(nn.Embedding(20, 4, max_norm=0.5)), TOKENS, ""),
    "convolution": (
        lambda: nn.Sequential(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3)),
        ROWS,
        "faster so",
    ),
    "frozen": (
        lambda: nn.Sequential(nn.Linear(6, 8).requires_grad_(False), nn.Linear(8, 3)),
        ROWS,
        "faster so",
    ),
}


def trained(learner, num_rounds=2):
    """Weights of the mean after every round, the first ones first."""
    model = learner.initial_model(1)
    models = [learner.weights(model)]
    rule = Sgd(batch_size=BATCH_SIZE, learning_rate=0.2)
    for i in range(num_rounds):
        updates = [
            PendingUpdate(
                client=f"client-{c}",
                model=model,
                samples=of,
                num_steps=NUM_STEPS,
                training=rule,
                key=9 * i + c,
            )
            for c, of in enumerate(SAMPLES)
        ]
        model = mean(updates)
        models.append(learner.weights(model))
    return models


def by_hand(network, data, start, num_rounds=2):
    """The same by a loop of torch."""
    x, y = torch.tensor(data.train_x), torch.tensor(data.train_y)
    for i in range(num_rounds):
        ends = []
        for c, of in enumerate(SAMPLES):
            network.train().load_state_dict({n: torch.tensor(v) for n, v in start.items()}, strict=False)
            optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=0.2)
            for batch in mini_batches(of, NUM_STEPS, BATCH_SIZE, 9 * i + c):
                optimizer.zero_grad()
                functional.cross_entropy(network(x[batch]), y[batch]).backward()
                optimizer.step()
            ends.append({n: v.detach().numpy().copy() for n, v in network.state_dict().items() if n in start})
        start = {n: np.mean([end[n] for end in ends], 0) for n in start}
    return start


def compare(make, data):
    torch.manual_seed(1)
    network = make()
    learner = Learner(network, data, num_workers=2)
    first, *_, last = trained(learner)
    expected = by_hand(network, data, first)
    for name, values in expected.items():
        most = np.abs(values - first[name]).max()
        np.testing.assert_allclose(last[name], values, rtol=0.0, atol=1e-4 * most + 1e-6, err_msg=name)
    return learner.manner


@pytest.mark.parametrize(("make", "data"), TOGETHER.values(), ids=TOGETHER)
def test_what_can_be_batched_trains_together(make, data):
    assert compare(make, data).together


@pytest.mark.parametrize(("make", "data", "words"), ALONE.values(), ids=ALONE)
def test_what_cannot_be_batched_trains_client_by_client(make, data, words):
    manner = compare(make, data)
    assert not manner.together
    assert words in manner.why


def normalised(seed):
    """Eight layers of batch norm, which make much of a rounding where a batch has three samples."""
    torch.manual_seed(seed)
    layers = [nn.Linear(6, 8)]
    for _ in range(8):
        layers += [nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8)]
    return nn.Sequential(*layers, nn.Linear(8, 3))


@pytest.mark.parametrize("seed", range(4))
def test_what_differs_by_no_more_than_a_rounding_makes_of_it_trains_together(seed):
    assert Learner(normalised(seed), ROWS).manner.together


def clipping():
    return nn.Sequential(nn.Linear(12, 8), Clipped(), nn.Linear(8, 4))


class Clipped(nn.Module):
    """Looks at values."""

    def forward(self, x):
        return clipped(x)


@pytest.mark.parametrize("learns", [True, False])
def test_a_run_says_why_clients_are_trained_one_by_one(learns, tmp_path, capsys):
    evaluation = cosim.ends.EveryVersions() if learns else cosim.Never()
    system = cosim.evolve(small_system(), model=f"{__name__}:clipping", evaluation=evaluation)
    cosim.run(system, out=tmp_path / "run", progress="clipping")
    said = "rules of the engine train clients one by one: torch.func cannot batch the network (it looks at"
    provenance = json.loads((tmp_path / "run" / "provenance.json").read_text())
    assert provenance.get("training", "").startswith(said) == learns
    assert (f"clipping: {said}" in capsys.readouterr().err) == learns
