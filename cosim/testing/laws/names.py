"""Names: a method that is one letter from one that its port knows overrides nothing, and is never asked."""

from collections.abc import Iterable
from typing import Any

import attrs

from cosim.configuration.port import parts_of
from cosim.system.system import System
from cosim.testing.laws.broken import broken

_ENGINE = __name__.partition(".")[0]
SHORTEST = 4
"""Letters of the shortest name that is compared; `of` is one letter from many."""


def check_names(system: System) -> None:
    """Check the names of the classes of all parts of a system.

    Raises:
        BrokenLaw: The first name that looks like another.
    """
    for part in parts_of(system):
        check_names_of(type(part))


def check_names_of(kind: type) -> None:
    """Check that no public name of a class is one edit from one of its port that it leaves as it is.

    Methods are compared with methods, and values (fields, properties, what a class says) with values.

    Raises:
        BrokenLaw: The first name that looks like another.
    """
    own_classes = [cls for cls in kind.__mro__ if not _is_ours(cls)]
    of_port = _names(cls for cls in kind.__mro__ if _is_ours(cls))
    own = _names(own_classes)
    for name, is_method in own.items():
        if name in of_port:
            continue
        for known, known_is_method in of_port.items():
            if known not in own and is_method == known_is_method and _one_edit(name, known):
                where = f"{kind.__name__}.{name} overrides nothing, and {known} is asked"
                raise broken("names", where, f"a slip of the pen: {known}, or _{name} for what is your own")


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in (_ENGINE, "builtins", "abc")


def _names(classes: Iterable[type]) -> dict[str, bool]:
    """Public name -> whether it is a method."""
    found: dict[str, bool] = {}
    for cls in classes:
        named: dict[str, Any] = {**vars(cls), **dict.fromkeys(vars(cls).get("__annotations__", ()))}
        if attrs.has(cls):
            named |= {field.name: None for field in attrs.fields(cls) if not field.inherited}
        for name, value in named.items():
            if not name.startswith("_"):
                is_method = callable(value) and not isinstance(value, type)
                found.setdefault(name, is_method or isinstance(value, staticmethod | classmethod))
    return found


def _one_edit(one: str, other: str) -> bool:
    """True if the names differ by one letter added, removed, changed or swapped with the next."""
    if min(len(one), len(other)) < SHORTEST or abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    one, other = one[start:], other[start:]
    swapped = one[:2] == other[1::-1] and one[2:] == other[2:]
    return one[1:] == other[1:] or one[1:] == other or one == other[1:] or swapped
