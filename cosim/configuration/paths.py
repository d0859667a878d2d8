"""Paths: names of fields within a configuration, such as uplink.sharing.bandwidth_hz.

A path that ends in kind names the class of a part.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any

import attrs

from cosim.configuration.json_form import options_of
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import ConfigurationError

KIND = "kind"
"""The last part of a path that names a class."""


def paths_of(config: Any) -> list[str]:
    """The path of every field of a configuration, and of the kind of every part."""
    found = []
    for attribute in attrs.fields(type(config)):
        value = getattr(config, attribute.name)
        found.append(attribute.name)
        if is_configuration(type(value)) or options_of(attribute.type):
            found.append(f"{attribute.name}.{KIND}")
        if is_configuration(type(value)):
            found += [f"{attribute.name}.{path}" for path in paths_of(value)]
    return found


def full_path(name: str, paths: Collection[str]) -> str:
    """The path that a name is the end of; the name itself where there is none.

    Raises:
        ConfigurationError: There are several.
    """
    found = [path for path in dict.fromkeys(paths) if f".{path}".endswith(f".{name}")]
    if name in found or not found:
        return name
    if len(found) > 1:
        raise ConfigurationError(f"{name}: may be {' or '.join(found)}. Usual fix: more of its path.")
    return found[0]


def ends_of(paths: Collection[str]) -> list[str]:
    """Every end of a path that tells it from the others, shorter ones first, and the paths themselves."""
    ends = Counter(end for path in dict.fromkeys(paths) for end in _ends(path))
    return sorted({*paths, *(end for end in ends if ends[end] == 1)}, key=lambda end: (end.count("."), end))


def _ends(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]
