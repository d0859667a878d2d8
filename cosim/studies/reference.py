"""Reference: the design of a study with which the others are compared.

It is the first design that leaves its system unchanged, else the first: so values of the grid may stand in
any order, and designs are still compared with the scenario's own values.

Usage::

    reference_of({"base": {"num_cells": 2, ...}}, {"num_cells": (1, 2)})  # 1

Validation: tests/studies/test_reference.py.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from cosim.studies.names import exactly


def reference_of(systems: Mapping[str, Mapping[str, Any]], grid: Mapping[str, Sequence[Any]]) -> int:
    """Number of the reference, the last field changing fastest, the system slowest.

    Args:
        systems: The systems that are changed, as files hold them, by their names.
        grid: Field, by its full path -> its values.
    """
    designs = product(systems.values(), product(*grid.values()))
    for number, (system, way) in enumerate(designs):
        if all(_has(system, field, value) for field, value in zip(grid, way, strict=True)):
            return number
    return 0


def _has(system: Mapping[str, Any], field: str, value: Any) -> bool:
    """True if a field of a system has this value already."""
    *outer, name = field.split(".")
    place: Any = system
    for part in outer:
        place = place.get(part) if isinstance(place, Mapping) else None
    if place is None and name == "kind":  # a part that is off
        return value is None
    return isinstance(place, Mapping) and name in place and exactly(place[name]) == exactly(value)
