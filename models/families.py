"""Families: networks by name, the family and its sizes, such as relu-784-300-10."""

import difflib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from torch import nn

from models.gpt2_lora import Gpt2Lora, gpt2_of
from models.lenet import LeNet5
from models.mlp import Mlp
from models.relu_network import ReluNetwork
from models.resnet import ResNet18
from models.token_window import TokenWindow
from models.vertical import HorizontalNetwork, VerticalNetwork


class Family(NamedTuple):
    """A kind of network: what its sizes mean, how many there are (None means two or more), what builds it."""

    sizes: str
    num_sizes: int | None
    build: Callable[[tuple[int, ...]], nn.Module]


FAMILIES = {
    "relu": Family("<inputs>-<hidden>-...-<outputs>", None, ReluNetwork),
    "mlp": Family("<inputs>-<hidden>-...-<outputs>", None, Mlp),
    "mlpdropout": Family("<inputs>-<hidden>-...-<outputs>", None, partial(Mlp, dropout=0.5)),
    "lenet5": Family("<outputs>", 1, lambda sizes: LeNet5(*sizes)),
    "lenet5padded": Family("<outputs>", 1, lambda sizes: LeNet5(*sizes, padding=2)),
    "resnet18": Family("<channels>-<outputs>", 2, lambda sizes: ResNet18(sizes[1], sizes[0])),
    "resnet18grey": Family(
        "<channels>-<rows of a picture>-<outputs>",
        3,
        lambda sizes: ResNet18(sizes[2], sizes[0], picture_side=sizes[1], num_colours=1),
    ),
    "gpt2lora": Family("<rank>-<outputs>", 2, lambda sizes: Gpt2Lora(gpt2_of(), sizes[1], sizes[0])),
    "window": Family("<tokens>-<window>-<embedding>-<hidden>", 4, TokenWindow),
    "vertical": Family("<server's features>-<client's features>-<hidden>-<outputs>", 4, VerticalNetwork),
    "horizontal": Family("<client's features>-<hidden>-<outputs>", 3, HorizontalNetwork),
}
"""Name -> family."""


def build(name: str) -> nn.Module:
    """The network of a name, the family and its sizes: "relu-784-300-10", "mlp-64-32-10".

    Raises:
        ValueError: unknown family, or sizes that are too few, too many or no whole numbers above 0.
    """
    family, *sizes = name.split("-")
    numbers = [int(size) for size in sizes if size.isdecimal() and int(size) > 0]
    wanted = FAMILIES[family].num_sizes if family in FAMILIES else None
    if family not in FAMILIES or len(numbers) != len(sizes) or len(sizes) != (wanted or max(2, len(sizes))):
        known = ", ".join(f'"{name}-{kind.sizes}"' for name, kind in FAMILIES.items())
        close = [] if family in FAMILIES else difflib.get_close_matches(family, FAMILIES, n=1)
        hint = f" Did you mean {'-'.join([*close, *sizes])}?" if close else ""
        raise ValueError(
            f"no network {name!r}.{hint} Known: {known}, all sizes above 0. Use such as relu-784-300-10."
        )
    return FAMILIES[family].build(tuple(numbers))
