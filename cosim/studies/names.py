"""Names of designs: their differences, in words (`cosim.display.words`).

Fields that are the same in all designs are left out. If two designs would have the same name, all are named
by paths and values as files hold them, such as "num_cells=2".

Usage::

    names_of({"HIST": {...}, "FedAvg": {...}}, {"bandwidth_hz": (5e6, 1e7)})  # "HIST, 5 MHz", ...

Validation: tests/studies/test_design_names.py.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from cosim.display.words import in_words, parts_of


def names_of(systems: Mapping[str, Mapping[str, Any]], grid: Mapping[str, Sequence[Any]]) -> list[str]:
    """Name of every design, the last field changing fastest, the system slowest.

    Args:
        systems: The systems that are changed, as files hold them, by their names.
        grid: Field -> its values.
    """
    parts = {name: parts_of(system) for name, system in systems.items()}
    differing = [field for field, values in grid.items() if len(values) > 1]
    told = differing or ([] if len(systems) > 1 else list(grid))

    def named(words: Any) -> list[str]:
        found = []
        for system, way in product(systems, product(*grid.values())):
            values = dict(zip(grid, way, strict=True))
            said = [words(field, values[field], _with_kinds(parts[system], values)) for field in told]
            found.append(", ".join([system, *said] if len(systems) > 1 or not said else said))
        return found

    names = named(lambda field, value, parts: in_words(field, value, told, parts))
    return names if len({*names}) == len(names) else named(lambda f, value, _: f"{f}={exactly(value)}")


def shared_parts(systems: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Path -> class of the parts that have one class in all systems with them."""
    found: dict[str, set[str]] = {}
    for system in systems.values():
        for path, kind in parts_of(system).items():
            found.setdefault(path, set()).add(kind)
    return {path: kinds.pop() for path, kinds in found.items() if len(kinds) == 1}


def _with_kinds(parts: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """Classes of a system's parts, with the changes of a design."""
    ending = ".kind"
    asked = {
        field.removesuffix(ending): str(kind) for field, kind in values.items() if field.endswith(ending)
    }
    return {**parts, **asked}


def exactly(value: Any) -> str:
    """Value as a file holds it; equal numbers are written alike."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return json.dumps(int(value) if is_whole else value, ensure_ascii=False)
