"""Cases for devices to be compared by: every program, codec, server's rule and combination.

`gpu.py` runs the cases on a GPU; the tests run them on torch's device "meta", which has no values, and hold
that no kind is left out.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from gpu_rounds import (
    SGD,
    accumulated,
    averaged,
    by_server,
    features,
    in_flight,
    in_parts,
    over_the_air,
    received,
    rows,
    tokens,
    twice,
)
from torch import nn
from typing_extensions import override

import models
from cosim.codecs.error_feedback import ErrorFeedback
from cosim.codecs.half_precision import BFloat16, Float16
from cosim.codecs.kept import KeptShare
from cosim.codecs.qsgd import Qsgd
from cosim.codecs.signs import Signs
from cosim.codecs.sparse import RandomK, TopK
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.server_updates.adaptive_updates import FedAdagrad, FedAdam, FedAvgM, FedYogi
from cosim.server_updates.fed_nova import FedNova
from cosim.server_updates.majority_vote import MajorityVote
from cosim.training.optimisers import Adam, Momentum
from cosim.training.port import ClientView, LocalTraining
from cosim.training.scaffold import Scaffold
from cosim.training.sgd import Proximal
from cosim.training.torch_function import TorchFunction
from cosim.values.pending import PendingModel
from models.gpt2_lora import Gpt2Lora
from scenarios.papers.vhfl.vertical import VerticalSgd


class Case(NamedTuple):
    """Something that is trained.

    Attributes:
        network: Makes the network.
        dataset: Makes its data set.
        result: Model of a few rounds, by the model that they start from, the network's shape, and a number of
            local steps.
        personal: Layers that clients keep to themselves.
        host_in_steps: What the host does in each of its steps; empty where it does nothing.
    """

    network: Callable[[], nn.Module]
    dataset: Callable[[], Dataset]
    result: Callable[..., PendingModel]
    personal: tuple[str, ...] = ()
    host_in_steps: str = ""


@part
class NoisyDescent(LocalTraining):
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


def by_optimizer(
    network: nn.Module,
    batches: Iterator[tuple[torch.Tensor, torch.Tensor]],
    state: dict[str, torch.Tensor],
    rng: torch.Generator,
) -> None:
    """A function of a user's own, by an optimizer of torch's."""
    optimizer = torch.optim.RMSprop(network.parameters(), lr=0.01)
    for x_BD, y_B in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x_BD), y_B).backward()
        optimizer.step()


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


def normalised() -> nn.Module:
    """Layers with batch norm."""
    return nn.Sequential(nn.Linear(16, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 10))


class Residual(nn.Module):
    """One block of a residual network with batch norm, on grey pictures of 12 x 12."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.conv = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.first, self.second, self.dense = nn.BatchNorm2d(4), nn.BatchNorm2d(4), nn.Linear(4, 10)

    @override
    def forward(self, x_BD: torch.Tensor) -> torch.Tensor:
        x_BCHW = self.first(self.stem(x_BD.view(-1, 1, 12, 12))).relu()
        return self.dense((x_BCHW + self.second(self.conv(x_BCHW))).relu().mean((2, 3)))


RELU, MLP = partial(models.build, "relu-16-12-10"), partial(models.build, "mlp-16-12-10")
FLAT, PICTURES = partial(features, (16,)), partial(features, (784,))


def flat(result: Callable[..., PendingModel], network: Callable[[], nn.Module] = RELU, **more: Any) -> Case:
    """A small network on flat features; results take `more`."""
    return Case(network, FLAT, partial(result, **more))


CASES = {
    "relu layers": flat(averaged, rule=SGD),
    "torch.func": flat(averaged, MLP, rule=SGD),
    "quantities": Case(
        partial(models.build, "mlp-16-12-1"), partial(features, (16,), None), partial(averaged, rule=SGD)
    ),
    "lenet5": Case(partial(models.build, "lenet5-10"), PICTURES, partial(averaged, rule=SGD)),
    "residual block": Case(Residual, partial(features, (144,)), partial(averaged, rule=SGD)),
    "resnet18": Case(
        partial(models.build, "resnet18-4-10"), partial(features, (3072,)), partial(averaged, rule=SGD)
    ),
    "batch norm": flat(averaged, normalised, rule=SGD),
    "dropout": flat(averaged, partial(models.build, "mlpdropout-16-12-10"), rule=SGD)._replace(
        host_in_steps="draws masks"
    ),
    "token window": Case(
        partial(models.build, "window-50-8-6-12"), partial(tokens, 8, 50), partial(averaged, rule=SGD)
    ),
    "gpt2 lora": Case(
        small_gpt2,
        partial(tokens, 12, 5),
        partial(averaged, rule=SGD),
    ),
    "momentum": flat(twice, MLP, rule=Momentum(batch_size=10, learning_rate=0.1, keeps_state=True)),
    "nesterov": flat(averaged, rule=Momentum(batch_size=10, learning_rate=0.1, nesterov=True)),
    "adam": flat(twice, rule=Adam(batch_size=10, learning_rate=0.01, keeps_state=True)),
    "proximal": flat(averaged, MLP, rule=Proximal(batch_size=10, learning_rate=0.1)),
    "scaffold": flat(twice, rule=Scaffold(batch_size=10, learning_rate=0.1)),
    "scaffold, some lost": flat(twice, MLP, rule=Scaffold(batch_size=10, learning_rate=0.1), share=0.5),
    "own rule": flat(averaged, MLP, rule=NoisyDescent(batch_size=10))._replace(host_in_steps="draws noise"),
    "own function": flat(
        averaged, MLP, rule=TorchFunction(function=f"{__name__}:by_optimizer", batch_size=10)
    ),
    "personal": flat(twice, normalised)._replace(personal=("3",)),
    "qsgd": flat(averaged, rule=SGD, codec=Qsgd()),
    "signs": flat(averaged, rule=SGD, codec=Signs(step_size=0.01)),
    "top-k": flat(averaged, rule=SGD, codec=TopK(kept=KeptShare(share=0.1))),
    "random-k": flat(averaged, rule=SGD, codec=RandomK(kept=KeptShare(share=0.1))),
    "float16": flat(averaged, rule=SGD, codec=Float16()),
    "error feedback": flat(twice, rule=SGD, codec=ErrorFeedback(codec=TopK())),
    "received in 16 bits": flat(received, codec=BFloat16()),
    "submodels": flat(in_parts),
    "submodels, one lost": flat(in_parts, num_lost=1),
    "over the air": flat(over_the_air),
    "accumulated": flat(accumulated),
    "in flight": flat(in_flight),
    "in flight, batch norm": flat(in_flight, normalised),
    "server's momentum": flat(by_server, server=FedAvgM()),
    "server's adagrad": flat(by_server, server=FedAdagrad()),
    "server's adam": flat(by_server, MLP, server=FedAdam()),
    "server's yogi": flat(by_server, server=FedYogi()),
    "normalised steps": flat(by_server, server=FedNova()),
    "majority vote": flat(by_server, server=MajorityVote(), codec=Signs(step_size=0.01)),
    "recurring rows": Case(RELU, rows, partial(averaged, rule=SGD)),
    "rows, torch.func": Case(MLP, rows, partial(averaged, rule=SGD)),
    "vertical": Case(
        partial(models.build, "vertical-6-10-8-4"),
        partial(features, (16,), None, num_global_features=6),
        partial(averaged, rule=VerticalSgd(batch_size=20, learning_rate=0.05)),
    ),
}
"""Name -> case."""
