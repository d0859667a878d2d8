"""Offers: what installed packages add, found by entry points and loaded when it is first asked for.

An installed package is trusted, as every import of it is. A file names nothing that is not installed.

An entry point is a line in the pyproject.toml of a package, such as `Fastest = "my_package.rules:Fastest"`.
In the group of parts (`kinds.GROUP`) its name is that of a class, as files have it; in that of networks
(`networks.named.GROUP`) it stands for a function of a network's name.
"""

from functools import cache
from importlib import metadata
from typing import Any

from cosim.configuration.rules import ConfigurationError


@cache
def offers(group: str) -> tuple[metadata.EntryPoint, ...]:
    """The entry points of all installed packages, a search of some milliseconds."""
    return tuple(metadata.entry_points(group=group))


def taken(offer: metadata.EntryPoint, where: str) -> Any:
    """The object of an entry point.

    Args:
        where: What asks for it, for the message.

    Raises:
        ConfigurationError: It cannot be loaded.
    """
    try:
        return offer.load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"{where}: {offer.value} cannot be loaded ({error}). Give another name to any file of "
            f"yours that is called {offer.module.partition('.')[0]}.py."
        ) from None
