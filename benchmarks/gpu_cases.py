"""Cases for devices to be compared by: every program, codec with draws or sorting, and combination.

`gpu.py` runs the cases on a GPU; the tests run them on torch's device "meta", which has no values.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from typing_extensions import override

import models
from cosim.codecs.error_feedback import ErrorFeedback
from cosim.codecs.half_precision import Float16
from cosim.codecs.kept import KeptShare
from cosim.codecs.port import Codec
from cosim.codecs.qsgd import Qsgd
from cosim.codecs.signs import Signs
from cosim.codecs.sparse import RandomK, TopK
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.server_updates.adaptive_updates import FedAdam
from cosim.server_updates.stepped import stepped
from cosim.training.optimisers import Adam, Momentum
from cosim.training.port import ClientView, LocalTraining
from cosim.training.scaffold import Scaffold
from cosim.training.sgd import Proximal, Sgd
from cosim.values.combinations import accumulate, assemble, mean, noisy_mean, submodel
from cosim.values.pending import PendingModel, PendingState, PendingUpdate
from cosim.values.submodels import NetworkShape, draw_parts, even_counts
from models.gpt2_lora import Gpt2Lora
from scenarios.papers.rawhfl.recurring_rows import RecurringRows
from scenarios.papers.vhfl.vertical import VerticalSgd

NUM_CLIENTS, NUM_STEPS, NUM_SAMPLES = 6, 4, 40


@part
class OwnFunction(LocalTraining):
    """A rule of a user's own: a step along the mean gradient of all samples, with noise."""

    @override
    def train(self, client: ClientView) -> None:
        x_BD, y_B = client.samples()
        for _ in range(client.num_steps):
            client.network.zero_grad()
            client.loss(client.network(x_BD), y_B).backward()
            with torch.no_grad():
                for values in client.network.parameters():
                    noise = torch.randn(values.shape, generator=client.generator).to(values.device)
                    assert values.grad is not None
                    values.sub_(0.05 * values.grad + 1e-3 * noise)


class Case(NamedTuple):
    """Something that is trained.

    Attributes:
        network: Makes the network.
        dataset: Makes its data set.
        result: Model after a round that starts from a model.
    """

    network: Callable[[], nn.Module]
    dataset: Callable[[], Dataset]
    result: Callable[[PendingModel, NetworkShape], PendingModel]


def features(size: tuple[int, ...], num_classes: int | None = 10, **more: Any) -> Dataset:
    """Normal features with labels that a network can learn; with None targets."""
    rng = np.random.default_rng(1)
    num = NUM_CLIENTS * NUM_SAMPLES
    x = rng.standard_normal((num, *size), np.float32)
    told = x.reshape(num, -1)[:, : num_classes or 1]
    y = told.argmax(1) if num_classes else told.astype(np.float32)
    return Dataset(name="features", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=num_classes, **more)


def rows() -> Dataset:
    """Rows of features that recur with several labels."""
    x = np.random.default_rng(1).standard_normal((30, 16), np.float32)
    return Dataset(
        name="rows",
        train_x=x,
        train_y=None,
        test_x=x,
        test_y=np.arange(30) % 10,
        num_classes=10,
        batching=RecurringRows,
    )


def tokens(size: int, num_classes: int) -> Dataset:
    """Token numbers."""
    rng = np.random.default_rng(1)
    num = NUM_CLIENTS * NUM_SAMPLES
    x, y = rng.integers(0, 50, (num, size)), rng.integers(0, num_classes, num)
    return Dataset(name="tokens", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=num_classes)


def updates(
    start: PendingModel,
    rule: LocalTraining,
    codec: Codec | None = None,
    num_steps: int = NUM_STEPS,
    num_clients: int = NUM_CLIENTS,
) -> list[PendingUpdate]:
    """A round of clients, of which the first `NUM_CLIENTS` have samples of their own."""
    return [
        PendingUpdate(
            client=f"client{i}",
            model=start,
            samples=np.arange(NUM_SAMPLES) + NUM_SAMPLES * (i % NUM_CLIENTS),
            num_steps=num_steps,
            training=rule,
            key=i,
            codec=codec,
        )
        for i in range(num_clients)
    ]


def averaged(
    start: PendingModel, shape: NetworkShape, rule: LocalTraining, codec: Codec | None = None
) -> PendingModel:
    """The plain round."""
    return mean(updates(start, rule, codec), range(1, NUM_CLIENTS + 1))


def twice(start: PendingModel, shape: NetworkShape, rule: LocalTraining) -> PendingModel:
    """Two rounds, of which the second continues with what each client has kept."""
    first = updates(start, rule)
    states = [update.next_state for update in first]
    again = [
        PendingUpdate(
            client=update.client,
            model=mean(first),
            samples=update.samples,
            num_steps=NUM_STEPS,
            training=rule,
            key=100 + update.key,
            state=state,
        )
        for update, state in zip(first, states, strict=True)
    ]
    return mean(again)


def in_parts(start: PendingModel, shape: NetworkShape) -> PendingModel:
    """Two cells that train disjoint parts, assembled."""
    counts = even_counts(shape.num_units, num_cells=2)
    parts = draw_parts(shape.num_units, counts, np.random.default_rng(1))
    return assemble(parts, [mean(updates(submodel(start, of_cell), SGD)) for of_cell in parts])


def over_the_air(start: PendingModel, shape: NetworkShape) -> PendingModel:
    """A sum with noise."""
    return noisy_mean(updates(start, SGD), lambda: 0.01, key=7)


def accumulated(start: PendingModel, shape: NetworkShape) -> PendingModel:
    """Gradients that are added up."""
    return accumulate(start, updates(start, SGD), [0.1] * NUM_CLIENTS)


def by_adam_of_server(start: PendingModel, shape: NetworkShape) -> PendingModel:
    """A server's own step, twice."""
    model: PendingModel = start
    state: PendingState | None = None
    for key in (1, 2):
        model, state = stepped(FedAdam(), model, mean(updates(model, SGD)), state, key)
    return model


SGD = Sgd(batch_size=10, learning_rate=0.1)
RELU, MLP = partial(models.build, "relu-16-12-10"), partial(models.build, "mlp-16-12-10")
FLAT = partial(features, (16,))


def small_gpt2() -> nn.Module:
    """GPT-2 with adapters, small and with random weights."""
    return gpt2_lora(num_layers=2, width=32, num_heads=2, num_tokens=50)


def gpt2_lora(num_layers: int, width: int, num_heads: int, num_tokens: int) -> nn.Module:
    """GPT-2 with adapters and random weights."""
    from transformers.models.gpt2.configuration_gpt2 import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Model

    torch.manual_seed(1)
    gpt2 = GPT2Model(GPT2Config(n_layer=num_layers, n_embd=width, n_head=num_heads, vocab_size=num_tokens))
    return Gpt2Lora(gpt2, num_classes=5, rank=4)


def ordinary(*layers: Callable[[], nn.Module]) -> nn.Module:
    """Layers in a row."""
    return nn.Sequential(*(layer() for layer in layers))


CASES = {
    "relu layers": Case(RELU, FLAT, partial(averaged, rule=SGD)),
    "torch.func": Case(MLP, FLAT, partial(averaged, rule=SGD)),
    "quantities": Case(
        partial(models.build, "mlp-16-12-1"), partial(features, (16,), None), partial(averaged, rule=SGD)
    ),
    "lenet5": Case(
        partial(models.build, "lenet5-10"), partial(features, (784,)), partial(averaged, rule=SGD)
    ),
    "resnet18": Case(
        partial(models.build, "resnet18-4-10"), partial(features, (3072,)), partial(averaged, rule=SGD)
    ),
    "batch norm": Case(
        partial(
            ordinary,
            partial(nn.Linear, 16, 12),
            partial(nn.BatchNorm1d, 12),
            nn.ReLU,
            partial(nn.Linear, 12, 10),
        ),
        FLAT,
        partial(averaged, rule=SGD),
    ),
    "dropout": Case(partial(models.build, "mlpdropout-16-12-10"), FLAT, partial(averaged, rule=SGD)),
    "token window": Case(
        partial(models.build, "window-50-8-6-12"), partial(tokens, 8, 50), partial(averaged, rule=SGD)
    ),
    "gpt2 lora": Case(small_gpt2, partial(tokens, 12, 5), partial(averaged, rule=SGD)),
    "momentum": Case(
        MLP, FLAT, partial(twice, rule=Momentum(batch_size=10, learning_rate=0.1, keeps_state=True))
    ),
    "nesterov": Case(
        RELU, FLAT, partial(averaged, rule=Momentum(batch_size=10, learning_rate=0.1, nesterov=True))
    ),
    "adam": Case(RELU, FLAT, partial(twice, rule=Adam(batch_size=10, learning_rate=0.01, keeps_state=True))),
    "proximal": Case(MLP, FLAT, partial(averaged, rule=Proximal(batch_size=10, learning_rate=0.1))),
    "scaffold": Case(RELU, FLAT, partial(twice, rule=Scaffold(batch_size=10, learning_rate=0.1))),
    "own function": Case(MLP, FLAT, partial(averaged, rule=OwnFunction(batch_size=10))),
    "qsgd": Case(RELU, FLAT, partial(averaged, rule=SGD, codec=Qsgd())),
    "signs": Case(RELU, FLAT, partial(averaged, rule=SGD, codec=Signs(step_size=0.01))),
    "top-k": Case(RELU, FLAT, partial(averaged, rule=SGD, codec=TopK(kept=KeptShare(share=0.1)))),
    "random-k": Case(RELU, FLAT, partial(averaged, rule=SGD, codec=RandomK(kept=KeptShare(share=0.1)))),
    "float16": Case(RELU, FLAT, partial(averaged, rule=SGD, codec=Float16())),
    "error feedback": Case(RELU, FLAT, partial(averaged, rule=SGD, codec=ErrorFeedback(codec=TopK()))),
    "submodels": Case(RELU, FLAT, in_parts),
    "over the air": Case(RELU, FLAT, over_the_air),
    "accumulated": Case(RELU, FLAT, accumulated),
    "server's adam": Case(MLP, FLAT, by_adam_of_server),
    "recurring rows": Case(RELU, rows, partial(averaged, rule=SGD)),
    "rows, torch.func": Case(MLP, rows, partial(averaged, rule=SGD)),
    "vertical": Case(
        partial(models.build, "vertical-6-10-8-4"),
        partial(features, (16,), None, num_global_features=6),
        partial(averaged, rule=VerticalSgd(batch_size=10, learning_rate=0.05)),
    ),
}
"""Every program of training, every codec with draws or sorting, every combination."""

STEPPED = ("relu layers", "torch.func", "lenet5", "resnet18", "batch norm", "token window", "recurring rows")
"""Cases whose programs take steps without the host."""
