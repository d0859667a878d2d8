"""Names of designs: what tells them from the others, in words (`cosim.words`).

Fields that are the same in all designs are left out. Where two designs would be called alike, all are called
by paths and values as files hold them, such as "num_cells=2".

Usage::

    names_of(["HIST", "FedAvg"], {"bandwidth_hz": (5e6, 1e7)})  # "HIST, 5 MHz", "HIST, 10 MHz", ...

Validation: tests/studies/test_design_names.py.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from cosim.words import in_words


def names_of(systems: Sequence[str], grid: Mapping[str, Sequence[Any]]) -> list[str]:
    """The name of every design, the last field changing fastest, the system slowest.

    Args:
        systems: Names of the systems that are changed.
        grid: Field -> its values.
    """
    differing = [field for field, values in grid.items() if len(values) > 1]
    told = differing or ([] if len(systems) > 1 else list(grid))

    def named(words: Any) -> list[str]:
        found = []
        for system, way in product(systems, product(*grid.values())):
            values = dict(zip(grid, way, strict=True))
            parts = [words(field, values[field]) for field in told]
            found.append(", ".join([system, *parts] if len(systems) > 1 or not parts else parts))
        return found

    names = named(lambda field, value: in_words(field, value, told))
    return names if len({*names}) == len(names) else named(lambda f, value: f"{f}={exactly(value)}")


def exactly(value: Any) -> str:
    """A value as a file holds it; numbers that are the same are alike."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return json.dumps(int(value) if is_whole else value, ensure_ascii=False)
