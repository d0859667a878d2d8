"""Other kinds of a configuration's parts, and the fields that they would have."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import attrs

from cosim.configuration import Port
from cosim.configuration.field_types import options_of
from cosim.configuration.kinds import class_of, is_configuration, kind_of, known_kinds
from cosim.system.paths import KIND

_MOST_PLACES = 3
"""Parts in a message. [no source]"""


def parts_by_path(config: Any, prefix: str = "") -> Iterator[tuple[str, Any, tuple[type, ...]]]:
    """Path of every part, the part (None where it is off), and the classes that its field names."""
    for attribute in attrs.fields(type(config)):
        part, options = getattr(config, attribute.name), options_of(attribute.type)
        if options:
            yield prefix + attribute.name, part, options
        if is_configuration(type(part)):
            yield from parts_by_path(part, f"{prefix}{attribute.name}.")


def other_kinds_of(place: str, part: Any, options: tuple[type, ...]) -> list[str]:
    """Names of the classes that a field takes beside its part's; not the port where there are kinds of it."""
    known = known_kinds(options, place.rpartition(".")[2])
    ours = [kind for kind in known if ":" not in kind]
    left_out = [kind for kind in ours if len(ours) > 1 and Port in (class_of(kind) or Port).__bases__]
    own = kind_of(type(part)) if is_configuration(type(part)) else None
    return [kind for kind in known if kind != own and kind not in left_out]


def elsewhere(path: str, configs: Collection[Any], written: Callable[[str, str], str]) -> str:
    """Sentences on other kinds of parts that have such a field, after a space; empty if none has.

    Args:
        written: How a user asks for a kind, given its path and name.
    """
    by_place: dict[str, list[str]] = {}
    for config in configs:
        for place, kind in kinds_with(config, path):
            kinds = by_place.setdefault(place, [])
            kinds += [] if kind in kinds else [kind]
    of_ours = {place: [kind for kind in kinds if ":" not in kind] for place, kinds in by_place.items()}
    found = {place: of_ours[place] or kinds for place, kinds in by_place.items()}
    said = ""
    for place, kinds in sorted(found.items(), key=lambda one: len(one[1]))[:_MOST_PLACES]:
        verb = "has" if len(kinds) == 1 else "have"
        said += f" {', '.join(kinds)} {verb} it: {written(place, kinds[-1])}."
    return said


def kinds_with(config: Any, path: str) -> list[tuple[str, str]]:
    """Parts of which another kind would have a field: the path of the kind, and the kind.

    Only the nearest ones: in the part that the path names, if there are any, rather not of a downlink, with
    the field in the kind itself rather than in a part of it, and not of a part around another one.
    """
    outer, _, field = path.rpartition(".")
    parts = list(parts_by_path(config))
    if outer and not any(f".{outer}." in f".{place}." for place, *_ in parts):
        return []  # the part itself is misspelt
    found = [
        (f"{place}.{KIND}", kind, depth)
        for place, part, options in parts
        for kind in other_kinds_of(place, part, options)
        if (depth := _depth(class_of(kind) or type(part), field)) is not None
    ]

    def far(one: tuple[str, str, int]) -> tuple[bool, bool, int]:
        place, _, depth = one
        return f".{outer}." not in f".{place}", place.startswith("downlink"), depth

    least = min(map(far, found), default=None)
    nearest = [(place, kind) for place, kind, depth in found if far((place, kind, depth)) == least]

    def is_around_another(place: str) -> bool:
        around = place.removesuffix(KIND)
        return any(inner != place and inner.startswith(around) for inner, _ in nearest)

    return [(place, kind) for place, kind in nearest if not is_around_another(place)]


def _depth(cls: type, field: str) -> int | None:
    """Depth of a field in a class and its default parts; None if there is no such field."""
    depths = [0] if field in attrs.fields_dict(cls) else []
    for attribute in attrs.fields(cls):
        inner = type(attribute.default)
        if not depths and is_configuration(inner) and (deeper := _depth(inner, field)) is not None:
            depths.append(1 + deeper)
    return min(depths, default=None)
