"""Networks by name: plain `torch.nn.Module` classes that know no clock and no radio.

Usage::

    network = models.build("relu-784-300-10")

A network that can be split into submodels says so as plain data, so that other kinds of network join by
declaration only:

    unit_groups     group name -> ((name, axis), ...): what one group of units cuts, of parameters and of
                    running statistics (floating-point buffers), which belong to the model's state
    relu_layers     (weight name, bias name or None) of every layer, inputs first, for a network that is only
                    fully connected layers with ReLU between

Parameters without requires_grad are frozen: they never travel, and all clients share them. A network of which
the server keeps a part has modules `central` and `local`, with `num_global_features` and
`num_central_outputs` (`vertical`).

Networks of one's own may use torch's dropout layers, whose masks the learner draws from the update's key.
Other randomness in a forward pass (functional.dropout, torch.rand, nn.RReLU, the dropout inside of nn.LSTM
and nn.MultiheadAttention) is refused.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from models.gpt2_lora import Gpt2Lora, gpt2_of
from models.lenet import LeNet5
from models.mlp import Mlp
from models.relu_network import ReluNetwork
from models.resnet import ResNet18
from models.vertical import HorizontalNetwork, VerticalNetwork


class Family(NamedTuple):
    """A kind of network: what its sizes mean, how many there are (None: two or more), what builds it."""

    sizes: str
    num_sizes: int | None
    build: Callable[[tuple[int, ...]], nn.Module]


FAMILIES = {
    "relu": Family("<inputs>-<hidden>-...-<outputs>", None, ReluNetwork),
    "mlp": Family("<inputs>-<hidden>-...-<outputs>", None, Mlp),
    "lenet5": Family("<outputs>", 1, lambda sizes: LeNet5(*sizes)),
    "lenet5padded": Family("<outputs>", 1, lambda sizes: LeNet5(*sizes, padding=2)),
    "resnet18": Family("<channels>-<outputs>", 2, lambda sizes: ResNet18(sizes[1], sizes[0])),
    "resnet18grey": Family(
        "<channels>-<rows of a picture>-<outputs>",
        3,
        lambda sizes: ResNet18(sizes[2], sizes[0], picture_side=sizes[1], num_colours=1),
    ),
    "gpt2lora": Family("<rank>-<outputs>", 2, lambda sizes: Gpt2Lora(gpt2_of(), sizes[1], sizes[0])),
    "vertical": Family("<server's features>-<client's features>-<hidden>-<outputs>", 4, VerticalNetwork),
    "horizontal": Family("<client's features>-<hidden>-<outputs>", 3, HorizontalNetwork),
}
"""Name -> family."""


def build(name: str, *, values: bool = True) -> nn.Module:
    """The network of a name, the family and its sizes: "relu-784-300-10", "mlp-64-32-10".

    Args:
        values: Whether its tensors have values, or lie on torch's device "meta" and only have shapes.

    Raises:
        ValueError: unknown family, or sizes that are too few, too many or no whole numbers above 0.
    """
    family, *sizes = name.split("-")
    numbers = [int(size) for size in sizes if size.isdecimal() and int(size) > 0]
    wanted = FAMILIES[family].num_sizes if family in FAMILIES else None
    if family not in FAMILIES or len(numbers) != len(sizes) or len(sizes) != (wanted or max(2, len(sizes))):
        known = ", ".join(f'"{name}-{kind.sizes}"' for name, kind in FAMILIES.items())
        raise ValueError(
            f"no network {name!r}. Known: {known}, all sizes above 0. Usual fix: such as relu-784-300-10."
        )
    with torch.device("cpu" if values else "meta"):
        return FAMILIES[family].build(tuple(numbers))
