"""Networks by name: `family-sizes`, or `module:function` of one's own.

A family comes from an installed package, by an entry point of the group `GROUP`, which is a function of the
whole name, such as relu-784-300-10. It returns a torch.nn.Module, or raises ValueError where it knows no such
family. A function of one's own takes no arguments. Its module must be loaded, because a name imports nothing
that the user did not ask for.

Usage::

    network_of("relu-784-300-10")
    network_of("mine:network", values=False)  # shapes only, for a run of which only times are asked
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from cosim.configuration import ConfigurationError
from cosim.configuration.functions import loaded
from cosim.configuration.kinds import offers, taken
from cosim.configuration.rules import shown
from cosim.own_code.global_generators import seeded

GROUP = "cosim.networks"
Builder = Callable[[], nn.Module]


class Named(NamedTuple):
    """A network by its name, with its builder."""

    name: str
    build: Builder

    @classmethod
    def of(cls, function: Builder) -> "Named":
        """Name of a user's own function."""
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return cls(f"{function.__module__}:{name}", function)


def network_of(name: str, *, values: bool = True, key: int = 0) -> nn.Module:
    """The network of a name.

    Args:
        values: True if its tensors have values, or lie on torch's device "meta" and only have shapes, where
            it can be built so.
        key: From which follows what it draws from global generators, 0 to 2**64 - 1.

    Raises:
        ConfigurationError: There is none, or it cannot be built.
    """
    return built(name, builder(name), values=values, key=key)


def builder(name: str) -> Builder:
    """The function that builds the network of a name, which other processes find too.

    Raises:
        ConfigurationError: There is none.
    """
    if ":" not in name:
        return partial(_of_a_family, name)
    found = loaded(name, f"{_said(name)}")
    if not callable(found):
        raise ConfigurationError(
            f"{_said(name)}: there is no such function. Use a function of that module that takes no "
            "arguments and returns a torch.nn.Module."
        )
    return found  # type: ignore[return-value]


def built(name: str, build: Builder, *, values: bool = True, key: int = 0) -> nn.Module:
    """The network that a builder of a name gives.

    Args:
        values: As for `network_of`, and so is `key`.

    Raises:
        ConfigurationError: It fails, or gives no network.
    """
    try:
        network = _on("cpu", build, key) if values else _without_values(build, key)
    except ConfigurationError:
        raise
    except Exception as error:
        if ":" in name:
            message = f"{type(error).__name__}: {error}. Mend that function"
        elif isinstance(error, RuntimeError | TypeError | MemoryError):
            message = "too large for the memory of this machine. Use smaller layers"
        else:
            raise
        raise ConfigurationError(f"{_said(name)}: {message}.") from error
    if not isinstance(network, nn.Module):
        raise ConfigurationError(f"{_said(name)}: gave {type(network).__name__}. Return a torch.nn.Module.")
    return network


def _without_values(build: Builder, key: int) -> nn.Module:
    """A network on torch's device "meta"; with values, where its constructor asks for some."""
    try:
        return _on("meta", build, key)
    except Exception:  # of any kind: the function is the user's own, and fails again where it is wrong
        return _on("cpu", build, key)


def _on(device: str, build: Builder, key: int) -> nn.Module:
    with seeded(key), torch.device(device):
        return build()


def _said(name: str) -> str:
    return f"System.model = {shown(name)}"


def _of_a_family(name: str) -> nn.Module:
    """The network of the first package that knows the family."""
    refusals = []
    for offer in offers(GROUP):
        build = taken(offer, _said(name))
        try:
            return build(name)
        except ValueError as error:
            refusals.append(str(error))
    if not refusals:
        raise ConfigurationError(
            f"{_said(name)}: no installed package offers networks. Install cosim again: python -m pip "
            "install -e ."
        )
    raise ConfigurationError(f"System.model: {' '.join(refusals)}", "System.model")
