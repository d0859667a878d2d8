"""Paths: names of fields within a configuration, such as uplink.sharing.bandwidth_hz.

A path that ends in kind names the class of a part.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

import attrs

from cosim.configuration.field_types import options_of, type_name
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import ConfigurationError

KIND = "kind"
"""The last part of a path that names a class."""
_MOST_PATHS = 4
"""Paths in a message. [no source]"""


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


def open_in(config: Any, prefix: str = "") -> Iterator[tuple[type, str, Any]]:
    """Class, path and type of each field that a draft (`with_kind`) leaves open."""
    for attribute in attrs.fields(type(config)):
        value, path = getattr(config, attribute.name), prefix + attribute.name
        if value is attrs.NOTHING:
            yield type(config), path, attribute.type
        elif is_configuration(type(value)):
            yield from open_in(value, f"{path}.")


def check_closed(config: Any, given: Collection[str], written: Callable[[str], str]) -> None:
    """Refuse a draft that leaves fields open which are not given either.

    Args:
        given: Paths of fields that get a value.
        written: How a user writes the path of a field, such as --end.num-updates.

    Raises:
        ConfigurationError: Class and fields, and how to give them.
    """
    found = [one for one in open_in(config) if not {one[1], f"{one[1]}.{KIND}"} & {*given}]
    own = [(path, kind) for owner, path, kind in found if owner is found[0][0]]
    if own:
        names = " and ".join(path.rpartition(".")[2] for path, _ in own)
        fix = " and ".join(
            written(f"{path}.{KIND}") if options_of(kind) else f"{written(path)} with {type_name(kind)}"
            for path, kind in own
        )
        raise ConfigurationError(f"{found[0][0].__name__} lacks {names}: no default. Give {fix}.")


def full_path(name: str, paths: Collection[str]) -> str:
    """The path that a name is the end of; the name itself where there is none.

    Raises:
        ConfigurationError: There are several.
    """
    found = [path for path in dict.fromkeys(paths) if f".{path}".endswith(f".{name}")]
    if name in found or not found:
        return name
    if len(found) > 1:
        more = [f"{len(found) - _MOST_PATHS} others"] if len(found) > _MOST_PATHS + 1 else found[_MOST_PATHS:]
        may_be = " or ".join([*found[:_MOST_PATHS], *more])
        raise ConfigurationError(f"{name}: may be {may_be}. Give more of its path.")
    return found[0]


def ends_of(paths: Collection[str]) -> list[str]:
    """Every end of a path that tells it from the others, shorter ones first, and the paths themselves."""
    ends = Counter(end for path in dict.fromkeys(paths) for end in _ends(path))
    return sorted({*paths, *(end for end in ends if ends[end] == 1)}, key=lambda end: (end.count("."), end))


def _ends(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]
