"""Networks by name: plain `torch.nn.Module` classes that know no clock and no radio.

Usage::

    network = models.build("relu-784-300-10")

A network that can be split into submodels says so as plain data, so that other kinds of network join by
declaration only:

    unit_groups     group name -> ((parameter name, axis), ...): what one group of units cuts
    relu_layers     weight names in order, for a network that is only matrices with ReLU between
"""

from collections.abc import Callable

from torch import nn

from models.mlp import Mlp
from models.relu_network import ReluNetwork

FAMILIES: dict[str, Callable[[tuple[int, ...]], nn.Module]] = {"relu": ReluNetwork, "mlp": Mlp}
"""Family name to the class that builds a network from its layer sizes."""


def build(name: str) -> nn.Module:
    """The network of a name, "family-inputs-hidden-...-outputs": "relu-784-300-10", "mlp-64-32-10".

    Raises:
        ValueError: unknown family, or sizes that are not two or more whole numbers above 0.
    """
    family, *sizes = name.split("-")
    if family not in FAMILIES or len(sizes) < 2 or not all(s.isdecimal() and int(s) > 0 for s in sizes):
        known = ", ".join(f'"{f}-<inputs>-<hidden>-...-<outputs>"' for f in FAMILIES)
        raise ValueError(
            f"no network {name!r}. Known: {known}, all sizes above 0. Usual fix: such as relu-784-300-10."
        )
    return FAMILIES[family](tuple(int(s) for s in sizes))
