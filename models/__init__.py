"""Networks by name: plain `torch.nn.Module` classes that know no clock and no radio.

Usage::

    network = models.build("relu-784-300-10")

A network that can be split into submodels says so as plain data, so that other kinds of network join by
declaration only:

    unit_groups     group name -> ((parameter name, axis), ...): what one group of units cuts
    relu_layers     (weight name, bias name or None) of every layer, inputs first, for a network that is only
                    fully connected layers with ReLU between

and one of which the server keeps a part has modules `central` and `local`, with `num_global_features` and
`num_central_outputs` (`vertical`).
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from models.mlp import Mlp
from models.relu_network import ReluNetwork
from models.vertical import HorizontalNetwork, VerticalNetwork


class Family(NamedTuple):
    """A kind of network: what its sizes mean, how many there are (None: two or more), what builds it."""

    sizes: str
    num_sizes: int | None
    build: Callable[[tuple[int, ...]], nn.Module]


FAMILIES = {
    "relu": Family("<inputs>-<hidden>-...-<outputs>", None, ReluNetwork),
    "mlp": Family("<inputs>-<hidden>-...-<outputs>", None, Mlp),
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
        raise ValueError(
            f"no network {name!r}. Known: {known}, all sizes above 0. Usual fix: such as relu-784-300-10."
        )
    return FAMILIES[family].build(tuple(numbers))
